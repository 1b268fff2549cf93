"""What a store must hold after the acknowledgements that a worker printed."""

import subprocess
import sys
from pathlib import Path

from agentmem.store import Database

WORKER = Path(__file__).with_name("worker.py")


def start(folder, *arguments, **options):
    command = [sys.executable, str(WORKER), str(folder), *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def acknowledged(lines):
    """Return the version that each document must have; 0 for a removed one."""
    rows = {}
    for line in lines:
        match line.split():
            case ["A", row]:
                rows[int(row)] = 1
            case ["U", row, version]:
                rows[int(row)] = int(version)
            case ["D", row]:
                rows[int(row)] = 0
    return rows


def body_is_right(row, version, body):
    piece = b"%d:%d;" % (row, version)
    return body == piece * (len(body) // len(piece)) and body


def check(folder, rows, *, in_flight, others=None):
    """Open the store and return (lost, wrong): acknowledged states missing, and broken rules.

    ``others`` maps the seqs of changes that are of no document to their rows. At most
    ``in_flight`` operations may be there without their acknowledgement.
    """
    wrong = []
    strangers = set((others or {}).values())
    with Database(Path(folder)) as database:
        wrong += database.integrity()
        found = {}
        if database.sql("SELECT 1 FROM sqlite_schema WHERE name = 'task_document'"):
            for row, version, body in database.sql("SELECT id, version, body FROM document"):
                found[row] = version
                if not body_is_right(row, version, body):
                    wrong.append(f"document {row} has the body of another version")
            wrong += [
                f"{kind} {row}"
                for kind, row in database.sql(
                    "SELECT 'document without task', id FROM document"
                    " WHERE id NOT IN (SELECT document_id FROM task)"
                    " UNION ALL SELECT 'task without document', id FROM task"
                    " WHERE document_id NOT IN (SELECT id FROM document)"
                )
            ]
            live = {
                row
                for row, op in database.sql(
                    "SELECT row_id, op FROM changes WHERE seq IN"
                    " (SELECT max(seq) FROM changes WHERE op <> 'probe' GROUP BY row_id)"
                )
                if op != "remove"
            }
            if live - strangers != set(found):
                wrong.append("the changes log and the table differ")
        (last,) = database.sql("SELECT coalesce(max(seq), 0) FROM changes")[0]
        if database.counter.value != last:
            wrong.append(f"the counter says {database.counter.value}, the rows {last}")
        database.write(lambda t: t.change("probe", 0, 1))
    ahead = 0
    lost = []
    for row, version in rows.items():
        has = found.get(row, 0)
        if has == version:
            continue
        if (version and (has == version + 1 or has == 0)) and ahead < in_flight:
            ahead += 1
        else:
            lost.append((row, version, has))
    ahead += len(set(found) - set(rows))
    if ahead > in_flight:
        wrong.append(f"{ahead} operations without acknowledgement, at most {in_flight} were begun")
    return lost, wrong
