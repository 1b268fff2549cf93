"""The tables of captured logs, as the second migration makes them.

A *record* is one message as the host wrote it; its *turns* are the parts in it: words, tool calls,
tool results. A *payload* is a long text or a record's bytes, kept once however often it occurs.
Names and ids of hosts are ``ANY``: text, or the bytes of a text that no UTF-8 can hold.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA_2"]

SCHEMA_2: Final = """
CREATE TABLE payloads (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    is_compressed INTEGER NOT NULL,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    name TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    rewrites INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    top_calls INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope_id, name)
) STRICT;
CREATE INDEX sessions_by_name ON sessions (name);

CREATE TABLE records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    digest INTEGER NOT NULL,
    first_turn INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    payload_id INTEGER REFERENCES payloads (id)
) STRICT;
CREATE INDEX records_by_session ON records (session_id, id);
CREATE INDEX records_by_digest ON records (session_id, digest);
CREATE INDEX records_by_payload ON records (payload_id) WHERE payload_id IS NOT NULL;

ALTER TABLE turns ADD COLUMN record_id INTEGER REFERENCES records (id);
ALTER TABLE turns ADD COLUMN text_id INTEGER REFERENCES payloads (id);
CREATE INDEX turns_by_text ON turns (text_id) WHERE text_id IS NOT NULL;

CREATE TABLE tool_calls (
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    number INTEGER NOT NULL,
    ref TEXT NOT NULL,
    turn_id INTEGER REFERENCES turns (id) ON DELETE SET NULL,
    result_id INTEGER REFERENCES turns (id) ON DELETE SET NULL,
    name ANY NOT NULL,
    call_id ANY,
    pairing ANY,
    parent_id ANY,
    is_object INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'error', 'pending')),
    is_answered INTEGER NOT NULL,
    children INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tool_calls_by_ref ON tool_calls (session_id, ref);
CREATE INDEX tool_calls_by_call_id ON tool_calls (session_id, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX tool_calls_by_pairing ON tool_calls (session_id, pairing) WHERE pairing IS NOT NULL;
CREATE INDEX tool_calls_waiting ON tool_calls (session_id, number) WHERE is_answered = 0;
CREATE INDEX tool_calls_by_turn ON tool_calls (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX tool_calls_by_result ON tool_calls (result_id) WHERE result_id IS NOT NULL;
"""
