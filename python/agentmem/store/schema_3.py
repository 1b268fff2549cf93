"""The tables of the upper tiers, as the third migration makes them.

A *scene* (L2) has members, each row of a lower tier in one scene at most; a *persona* (L3) is a
version for one scope, never changed once written. Both rest on lower rows through ``sources``, like
every other tier, and appear in ``changes``, ``tags`` and ``embeddings`` under their tier. A *job* is
a step of the pipeline that has work to do, for a session (``extract``) or for a whole scope
(session ``''``); its row goes when the work is done. A *cursor* is the last row that a step has
read, moved in the transaction of the rows that it made of it.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA_3"]

SCHEMA_3: Final = """
ALTER TABLE turns ADD COLUMN offset_min INTEGER;
ALTER TABLE facts ADD COLUMN event_ms INTEGER;
ALTER TABLE facts ADD COLUMN confidence REAL;
ALTER TABLE facts ADD COLUMN extractor TEXT;
CREATE INDEX facts_by_scope ON facts (scope_id, id);
CREATE INDEX facts_rules ON facts (priority DESC, id)
    WHERE kind = 'instruction' AND superseded_ms IS NULL;

CREATE TABLE scenes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    kind TEXT NOT NULL,
    session TEXT,
    priority INTEGER NOT NULL,
    trust INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    weight REAL NOT NULL,
    superseded_ms INTEGER,
    merged_into INTEGER REFERENCES scenes (id) ON DELETE SET NULL,
    state TEXT NOT NULL,
    metadata TEXT NOT NULL,
    label TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX scenes_by_scope ON scenes (scope_id, last_ms) WHERE superseded_ms IS NULL;
CREATE INDEX scenes_by_successor ON scenes (merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE scene_members (
    tier INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    scene_id INTEGER NOT NULL REFERENCES scenes (id) ON DELETE CASCADE,
    PRIMARY KEY (tier, row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX scene_members_by_scene ON scene_members (scene_id, tier, row_id);

CREATE TABLE personas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    version INTEGER NOT NULL,
    trust INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    superseded_ms INTEGER,
    entries TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (scope_id, version)
) STRICT;

CREATE TABLE cursors (
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    step TEXT NOT NULL,
    session TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (scope_id, step, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    step TEXT NOT NULL CHECK (step IN ('extract', 'cluster', 'abstract')),
    session TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_ms INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    UNIQUE (scope_id, step, session)
) STRICT;

CREATE TABLE retention (
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    tier INTEGER NOT NULL,
    max_age_ms INTEGER,
    max_bytes INTEGER,
    PRIMARY KEY (scope_id, tier)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    op TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    counts TEXT NOT NULL,
    is_purged INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO jobs (scope_id, step, session, created_ms, updated_ms, turns)
    SELECT scope_id, 'extract', session, min(created_ms), max(created_ms), count(*)
    FROM turns WHERE origin = 'captured' AND session IS NOT NULL GROUP BY scope_id, session;
INSERT INTO jobs (scope_id, step, session, created_ms, updated_ms)
    SELECT scope_id, 'cluster', '', min(created_ms), max(created_ms) FROM facts GROUP BY scope_id;
INSERT INTO changes (op, tier, row_id, made_ms)
    SELECT 'upsert', 0, id, created_ms FROM turns WHERE origin <> 'asserted' ORDER BY id;
INSERT OR IGNORE INTO pending_embeddings (key)
    SELECT id FROM turns WHERE origin <> 'asserted' AND kind IN ('user', 'assistant');
"""
