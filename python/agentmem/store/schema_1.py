"""The tables of the store, as the first migration makes them.

All tiers share one shape: an ``INTEGER PRIMARY KEY AUTOINCREMENT`` (ids are never used again), a
scope, a session with a position, times in Unix milliseconds UTC, a trust. Text, tags, sources and
embeddings of any tier lie in the same tables, told apart by ``tier``. A row's *key* is
``tier << 56 | id``; vector ``chunk`` of a row has the id ``key * 8 + chunk``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA_1"]

SCHEMA_1: Final = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    op TEXT NOT NULL,
    tier INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    made_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    session TEXT,
    position INTEGER NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('captured', 'asserted', 'imported')),
    kind TEXT NOT NULL,
    speaker TEXT,
    client_id TEXT,
    digest INTEGER,
    trust INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    event_ms INTEGER,
    text TEXT NOT NULL,
    payload BLOB
) STRICT;
CREATE INDEX turns_by_session ON turns (scope_id, session, position) WHERE session IS NOT NULL;

CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    digest INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    session TEXT,
    subject TEXT,
    attribute TEXT,
    value TEXT,
    priority INTEGER NOT NULL,
    trust INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    valid_from_ms INTEGER,
    valid_to_ms INTEGER,
    superseded_ms INTEGER,
    superseded_by INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX facts_by_digest ON facts (digest) WHERE superseded_ms IS NULL;
CREATE UNIQUE INDEX facts_by_key ON facts (scope_id, key)
    WHERE key IS NOT NULL AND superseded_ms IS NULL;
CREATE INDEX facts_by_slot ON facts (scope_id, subject, attribute) WHERE attribute IS NOT NULL;
CREATE INDEX facts_by_successor ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE tags (
    tier INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (tier, row_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    tier INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    source_tier INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    span_start INTEGER,
    span_end INTEGER,
    PRIMARY KEY (tier, row_id, source_tier, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_by_source ON sources (source_tier, source_id);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
) STRICT;

CREATE TABLE pending_embeddings (
    key INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE imports (
    epoch TEXT NOT NULL,
    tier INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    PRIMARY KEY (epoch, tier, source_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE redactions (
    kind TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""
