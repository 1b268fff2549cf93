"""Timing that a busy machine disturbs little: CPU time, interleaved in one run, as ratios."""

from __future__ import annotations

import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Call = Callable[[int], object]

__all__ = [
    "Timing",
    "best_cpu_s",
    "busy_thread",
    "calls_per_second",
    "interleaved",
    "no_collection",
    "resident_mb",
    "steady_thread",
]

BLOCK = 10  # calls in a row before the next engine's turn: enough to warm its caches again


@dataclass
class Timing:
    """The times of many calls, in nanoseconds of this process's CPU and of the wall clock."""

    cpu_ns: list[int] = field(default_factory=list)
    wall_ns: list[int] = field(default_factory=list)

    def cpu_ms(self, percentile: float = 50) -> float:
        """Return a percentile of the CPU times in milliseconds."""
        return float(np.percentile(self.cpu_ns, percentile)) / 1e6

    def wall_ms(self, percentile: float = 50) -> float:
        """Return a percentile of the wall times in milliseconds."""
        return float(np.percentile(self.wall_ns, percentile)) / 1e6

    def time(self, call: Call, argument: int) -> None:
        """Time one call."""
        wall = time.perf_counter_ns()
        cpu = time.process_time_ns()
        call(argument)
        self.cpu_ns.append(time.process_time_ns() - cpu)
        self.wall_ns.append(time.perf_counter_ns() - wall)

    def summary(self) -> dict[str, float]:
        """Return the figures for ``extra_info``, in milliseconds."""
        return {
            "cpu_p50_ms": round(self.cpu_ms(50), 4),
            "cpu_p99_ms": round(self.cpu_ms(99), 4),
            "wall_p50_ms": round(self.wall_ms(50), 4),
            "wall_p99_ms": round(self.wall_ms(99), 4),
        }


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the cyclic garbage collector out of what is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def interleaved(calls: Mapping[str, Call], count: int) -> dict[str, Timing]:
    """Time each call with the arguments 0 to count - 1, a block of each in turn.

    Whatever slows the machine for a while slows all of them, so that the ratios hold. The order
    turns by one each round, so that nobody always follows the same neighbour.
    """
    timings = {name: Timing() for name in calls}
    order = list(calls)
    for name in order:
        calls[name](0)
    with no_collection():
        for start in range(0, count, BLOCK):
            for name in order:
                for argument in range(start, min(start + BLOCK, count)):
                    timings[name].time(calls[name], argument)
            order.append(order.pop(0))
    return timings


def best_cpu_s(call: Callable[[], object], *, rounds: int = 3) -> float:
    """Return the least CPU seconds of this process over several rounds of a long call."""
    times = []
    for _ in range(rounds):
        with no_collection():
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return min(times)


def calls_per_second(call: Call, *, threads: int, count: int) -> float:
    """Return how many calls a second that many threads make together, by the wall clock."""
    barrier = threading.Barrier(threads + 1)

    def work(worker: int) -> None:
        barrier.wait()
        for argument in range(worker, count * threads, threads):
            call(argument)

    with ThreadPoolExecutor(threads) as pool, no_collection():
        running = [pool.submit(work, worker) for worker in range(threads)]
        barrier.wait()
        start = time.perf_counter()
        for worker in running:
            worker.result()
        return count * threads / (time.perf_counter() - start)


@contextmanager
def busy_thread() -> Iterator[None]:
    """Run a thread that executes pure Python without a pause and so wants the interpreter lock."""
    stop = threading.Event()

    def spin() -> None:
        total = 0
        while not stop.is_set():
            for number in range(1000):
                total += number * number

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def steady_thread(call: Call, *, per_second: float) -> Iterator[list[int]]:
    """Make a call at a steady rate in a thread; yields the list of arguments done so far.

    An error of the call is raised at the end of the block.
    """
    stop = threading.Event()
    done: list[int] = []
    failed: list[BaseException] = []

    def work() -> None:
        start = time.perf_counter()
        while not stop.is_set():
            ahead = start + len(done) / per_second - time.perf_counter()
            if ahead > 0 and stop.wait(ahead):
                return
            try:
                call(len(done))
            except BaseException as error:  # noqa: BLE001 - handed to the waiting thread
                failed.append(error)
                return
            done.append(len(done))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()
    if failed:
        raise failed[0]


def resident_mb() -> float:
    """Return the resident memory of this process in megabytes (10^6 bytes), from /proc."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
        pages = int(statm.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
