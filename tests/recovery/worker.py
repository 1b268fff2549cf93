"""The child of the recovery tests: mixed writes, each acknowledged with one line on its output.

Usage: worker.py FOLDER DURABILITY SEED COUNT [THREADS]
A line is "A <id> <length>" for a document and its task added in one operation, "U <id> <version>"
for an update and "D <id>" for a removal.
"""

import os
import random
import sys
import threading
from pathlib import Path

from agentmem.store import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, owner TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS task (
    id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX IF NOT EXISTS task_document ON task (document_id);
"""


def body(document_id, version, size):
    return (b"%d:%d;" % (document_id, version)) * (size // 4 + 1)


def add(transaction, owner, size):
    execute = transaction.connection.execute
    execute("INSERT INTO document (version, owner, body) VALUES (1, ?, x'')", (owner,))
    row = transaction.connection.last_insert_rowid()
    execute("UPDATE document SET body = ? WHERE id = ?", (body(row, 1, size), row))
    execute("INSERT INTO task (document_id) VALUES (?)", (row,))
    transaction.change("add", 1, row)
    return row


def update(transaction, row, version, size):
    execute = transaction.connection.execute
    execute(
        "UPDATE document SET version = ?, body = ? WHERE id = ?",
        (version, body(row, version, size), row),
    )
    transaction.change("update", 1, row)


def remove(transaction, row):
    transaction.connection.execute("DELETE FROM document WHERE id = ?", (row,))
    transaction.change("remove", 1, row)


def work(database, owner, seed, count):
    rng = random.Random(seed)
    live = {}
    for _ in range(count):
        size = rng.choice((10, 200, 3000, 9000))
        choice = rng.random()
        if choice < 0.6 or not live:
            row = database.write(lambda t, size=size: add(t, owner, size))
            live[row] = 1
            line = f"A {row}\n"
        elif choice < 0.85:
            row = rng.choice(sorted(live))
            version = live[row] + 1
            database.write(lambda t, r=row, v=version, s=size: update(t, r, v, s))
            live[row] = version
            line = f"U {row} {version}\n"
        else:
            row = rng.choice(sorted(live))
            database.write(lambda t, r=row: remove(t, r))
            del live[row]
            line = f"D {row}\n"
        os.write(1, line.encode())


def main(folder, durability, seed, count, threads=1):
    database = Database(Path(folder), durability=durability)
    # In one operation each, so that a kill between them is tried too.
    for statement in SCHEMA.split(";"):
        database.write(lambda t, s=statement: t.connection.execute(s))
    os.write(1, b"READY\n")
    running = [
        threading.Thread(target=work, args=(database, f"{os.getpid()}.{n}", seed + n, count))
        for n in range(threads)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    database.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *map(int, sys.argv[5:]))
