"""What a forked child does with the handles it inherited: it never uses, unlocks or closes them.

SQLite forbids carrying a connection over a fork. A close in the child could wait for a mutex that
a thread of the parent held at the fork, so the child leaves the connections open until it ends.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

from agentmem.store import pool

if TYPE_CHECKING:
    from agentmem.store.database import Database

__all__ = ["watch"]

_databases: weakref.WeakSet[Database] = weakref.WeakSet()


def watch(database: Database) -> None:
    """Make a child of this process give up its copy of ``database``."""
    _databases.add(database)


def _in_child() -> None:
    import ctypes

    pool.renew_after_fork()
    for database in list(_databases):
        for connection in database.forked():
            # One reference too many: not even the end of the interpreter closes it.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _databases.clear()


os.register_at_fork(after_in_child=_in_child)
