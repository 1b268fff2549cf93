"""The tables of skills, as the fourth migration makes them.

A *buffer* is what one owner's session has fed to the skill path; its rows name L0 turns. An
*archive* takes the rows of a buffer that no archive took before, a *task* is its review. The
order is held by the schema: a task refers to its archive, a buffered row to the archive that
cleared it, so none of them can exist before the archive does.

A *skill* has versions that are never changed once written, but for their state. What became of
them, and why, is in ``skill_moves``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCHEMA_4"]

SCHEMA_4: Final = """
CREATE TABLE skill_buffers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    owner TEXT NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    is_compressed INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER,
    UNIQUE (session_id, owner)
) STRICT;
CREATE INDEX skill_buffers_filled ON skill_buffers (id) WHERE messages > 0;

CREATE TABLE skill_archives (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    buffer_id INTEGER NOT NULL REFERENCES skill_buffers (id),
    reason TEXT NOT NULL
        CHECK (reason IN ('oversize', 'compressed', 'tool_calls', 'bytes', 'forced')),
    intent TEXT,
    succeeded INTEGER,
    messages INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload_size INTEGER NOT NULL,
    omitted_messages INTEGER NOT NULL,
    omitted_bytes INTEGER NOT NULL,
    shortened INTEGER NOT NULL,
    digest BLOB NOT NULL,
    location TEXT,
    is_packed INTEGER NOT NULL DEFAULT 0,
    content BLOB,
    created_ms INTEGER NOT NULL,
    CHECK ((location IS NULL) <> (content IS NULL))
) STRICT;
CREATE INDEX skill_archives_by_buffer ON skill_archives (buffer_id);

CREATE TABLE skill_buffered (
    buffer_id INTEGER NOT NULL REFERENCES skill_buffers (id),
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    archive_id INTEGER REFERENCES skill_archives (id) ON DELETE RESTRICT,
    is_dropped INTEGER NOT NULL DEFAULT 0,
    is_compressed INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (buffer_id, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX skill_buffered_waiting ON skill_buffered (buffer_id, turn_id)
    WHERE archive_id IS NULL AND is_dropped = 0;
CREATE INDEX skill_buffered_by_archive ON skill_buffered (archive_id, turn_id)
    WHERE archive_id IS NOT NULL;
CREATE INDEX skill_buffered_by_turn ON skill_buffered (turn_id);

CREATE TABLE skills (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (scope_id, name)
) STRICT;

CREATE TABLE skill_versions (
    skill_id INTEGER NOT NULL REFERENCES skills (id),
    version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('proposed', 'approved', 'rejected', 'retired')),
    author TEXT NOT NULL,
    description TEXT NOT NULL,
    body TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hash BLOB NOT NULL,
    numbers INTEGER NOT NULL,
    reasons TEXT NOT NULL,
    flags TEXT NOT NULL,
    trust INTEGER NOT NULL,
    restores INTEGER,
    created_ms INTEGER NOT NULL,
    successes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    failed_in_a_row INTEGER NOT NULL DEFAULT 0,
    used_ms INTEGER,
    PRIMARY KEY (skill_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX skill_versions_by_numbers ON skill_versions (numbers)
    WHERE state IN ('proposed', 'approved');

CREATE TABLE skill_resources (
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    path TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (skill_id, version, path),
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_evidence (
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    archive_id INTEGER NOT NULL REFERENCES skill_archives (id) ON DELETE RESTRICT,
    sources TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (skill_id, version, place),
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX skill_evidence_by_archive ON skill_evidence (archive_id);

CREATE TABLE skill_moves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    move TEXT NOT NULL,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT;
CREATE INDEX skill_moves_by_skill ON skill_moves (skill_id, id);

CREATE TABLE skill_reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    session TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure')),
    made_ms INTEGER NOT NULL,
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT;
CREATE INDEX skill_reports_by_skill ON skill_reports (skill_id, version, id);

CREATE TABLE skill_pins (
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (scope_id, owner, session, skill_id),
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('archive', 'suspect')),
    archive_id INTEGER REFERENCES skill_archives (id) ON DELETE RESTRICT,
    skill_id INTEGER REFERENCES skills (id),
    version INTEGER,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'leased', 'blocked', 'done', 'dead')),
    generation INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    run_after_ms INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    result TEXT,
    reviewer TEXT,
    error TEXT,
    outcome TEXT,
    reasons TEXT,
    CHECK ((kind = 'archive') = (archive_id IS NOT NULL)),
    CHECK (state <> 'leased' OR worker IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX skill_tasks_by_archive ON skill_tasks (archive_id)
    WHERE archive_id IS NOT NULL;
CREATE INDEX skill_tasks_due ON skill_tasks (run_after_ms, id)
    WHERE kind = 'archive' AND state IN ('waiting', 'blocked');
CREATE INDEX skill_tasks_leased ON skill_tasks (id) WHERE state = 'leased';
CREATE INDEX skill_tasks_suspect ON skill_tasks (skill_id) WHERE kind = 'suspect';

CREATE TABLE skill_effects (
    task_id INTEGER NOT NULL REFERENCES skill_tasks (id),
    candidate BLOB NOT NULL,
    skill_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (task_id, candidate),
    FOREIGN KEY (skill_id, version) REFERENCES skill_versions (skill_id, version)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX skill_effects_by_version ON skill_effects (skill_id, version);

CREATE TABLE skill_fingerprints (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    archive_id INTEGER NOT NULL REFERENCES skill_archives (id) ON DELETE RESTRICT,
    data TEXT NOT NULL,
    sources TEXT NOT NULL,
    is_used INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope_id, owner, key, archive_id)
) STRICT;
"""
