"""What cancelling an awaited call means: the work is done whole or not at all."""

import asyncio
import threading

import pytest
from tests.skill_help import SPACE

from agentmem import AsyncMemory

COUNT = 2_500


def batch(count=COUNT):
    return [
        {"text": f"fact {at}", "key": f"key{at}", "embedding": [1, at / count]}
        for at in range(count)
    ]


@pytest.mark.parametrize("after", [0.0, 0.02, "first piece"])
def test_a_cancelled_batch_is_there_whole_or_not_at_all(tmp_path, after):
    async def run():
        # With one thread the next call begins when the cancelled one is through.
        async with AsyncMemory(tmp_path / "memory", embedder=SPACE, max_workers=1) as memory:
            loop, reached = asyncio.get_running_loop(), asyncio.Event()
            wanted = 2_000 if after == "first piece" else None

            def progress(done, _):
                if done == wanted:
                    loop.call_soon_threadsafe(reached.set)

            task = asyncio.create_task(memory.remember_many(batch(), progress=progress))
            await (reached.wait() if wanted else asyncio.sleep(after))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            held = (await memory.stats()).facts
            assert held in (0, COUNT)
            if wanted:
                assert held == COUNT

            again = await memory.remember_many(batch())
            assert {fact.status for fact in again} == {"duplicate" if held else "new"}
            assert (await memory.stats()).facts == COUNT
            assert (await memory.verify()).ok
            (hit,) = await memory.recall("fact 7", k=1, embedding=[1, 7 / COUNT])
            assert hit.text == "fact 7"

    asyncio.run(run())


def test_what_no_thread_has_begun_is_never_done(tmp_path):
    async def run():
        async with AsyncMemory(tmp_path / "memory", embedder=SPACE, max_workers=1) as memory:
            begun, go_on = threading.Event(), threading.Event()

            def hold(*_):
                begun.set()
                go_on.wait()

            first = asyncio.create_task(memory.remember_many(batch(1), progress=hold))
            await asyncio.to_thread(begun.wait)
            second = asyncio.create_task(memory.remember_many(batch(10)))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            go_on.set()
            assert [fact.status for fact in await first] == ["new"]
            assert (await memory.stats()).facts == 1

    asyncio.run(run())
