"""LangGraph's store classes by name, agentmem's by nature: what its own tests get instead.

The tests hand SQLite's stores the path of an empty file; ours gets a folder beside it.
"""

from contextlib import asynccontextmanager, contextmanager

from agentmem.integrations.langgraph import AgentMemStore, AsyncAgentMemStore


class InMemoryStore(AgentMemStore):
    def __init__(self, *, index=None):
        super().__init__(":memory:", index=index)

    # Spied on by name, so they must be this class's own.
    def batch(self, ops):
        return super().batch(ops)

    async def abatch(self, ops):
        return await super().abatch(ops)


def _folder(conn_string):
    return conn_string if conn_string == ":memory:" else f"{conn_string}.folder"


class SqliteStore(AgentMemStore):
    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string, **options):
        with super().from_conn_string(_folder(conn_string), **options) as store:
            yield store


class AsyncSqliteStore(AsyncAgentMemStore):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string, **options):
        async with super().from_conn_string(_folder(conn_string), **options) as store:
            yield store
