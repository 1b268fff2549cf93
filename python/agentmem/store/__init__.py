"""The store of record: SQLite in WAL mode, through ``apsw`` and nothing else."""

from agentmem.store.database import Database
from agentmem.store.guard import StoreWarning
from agentmem.store.writer import Change, Transaction

__all__ = ["Change", "Database", "StoreWarning", "Transaction"]
