"""The steps of the pipeline: what each reads, what it writes, and how it commits.

``consolidate`` calls, for each scope, ``extract_session`` for each of its sessions with a job, then
``cluster_scope``, then ``abstract_scope``. The contract of every step:

* **It reads below and writes its own tier.** Extract reads L0 and writes L1; cluster reads L0 and
  L1 and writes L2; abstract reads L1 and L2 and writes L3. A step never changes a lower row.
* **One scope.** A step works on the rows of one scope alone (``scope_id``), not on those below it:
  scenes and personas never mix scopes.
* **Read, think, write.** Read in ``with opened.database.read()``; do what takes time (rules,
  models, embedding) with no lock held; then make one ``opened.database.write(operation)``. The
  operation may be run again, so it has no effect outside its transaction.
* **The cursor moves with the rows.** The operation first calls ``cursors.advance(…, expected=…,
  to=…)`` with what was read before. Where another run came first this raises ``StaleCursorError``,
  the transaction rolls back, and the step reads again. So a crash anywhere leaves either all of a
  piece or nothing of it, and two runs at once do no work twice.
* **The job goes with the last piece.** When nothing is left the operation calls ``jobs.done`` and,
  for what became due above, ``jobs.request`` of the next step, all in the same transaction. An
  exception leaves the job; ``consolidate`` notes it with ``jobs.failed``.
* **Every row has its links.** Upper rows get ``sources`` rows (``scenes.assign`` and
  ``personas.insert`` write them), the lowest trust of what they rest on, one
  ``transaction.change("upsert", tier, id, index_row)`` with the row read back by
  ``scene_index_rows`` or ``persona_index_rows``, and ``embeddings.add_pending`` for the text that
  is new: vectors are made later, by whoever runs ``embed_pending``.
* **Deterministic.** The same rows in the same order give the same rows above, whatever the clock
  says, in whatever pieces they come. ``opened.now_ms()`` goes into ``created_ms`` only, and says
  which facts have begun to hold, of which alone a persona speaks.

A fact that was superseded or forgotten since it was clustered stays a member until its scene is
worked on again; who forgets rows requests a ``cluster`` job for their scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened

__all__ = ["Extracted", "Stepped", "abstract_scope", "cluster_scope", "existing_scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What ``extract_session`` did."""

    messages: int = 0
    facts: int = 0
    duplicates: int = 0
    superseded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """What ``cluster_scope`` or ``abstract_scope`` did.

    Attributes:
        read: How many lower rows were taken in.
        written: How many scenes or persona versions were written or changed.
    """

    read: int = 0
    written: int = 0


def existing_scope(connection: apsw.Connection, scope: str) -> int | None:
    """Return the id of a scope, None where nothing was written in it yet."""
    row = connection.execute("SELECT id FROM scopes WHERE path = ?", (scope,)).fetchone()
    return None if row is None else int(row[0])


def cluster_scope(opened: Opened, scope: str) -> Stepped:
    """Put what is new in a scope into scenes; see the module for the contract."""
    from agentmem.tiers.cluster import cluster_scope as step

    return step(opened, scope)


def abstract_scope(opened: Opened, scope: str) -> Stepped:
    """Write a persona version for a scope where its facts say something new."""
    from agentmem.tiers.persona import abstract_scope as step

    return step(opened, scope)
