"""A deterministic fuzzer: one seed gives one run of inputs, and a failure names its input."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

Input = TypeVar("Input")

WORDS = (
    b"", b"\n", b"\r\n", b"\0", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b";", b"#",
    b"#59;", b"%%", b"%% agentmem/1", b"stateDiagram-v2", b"[*]", b" --> ", b" => ", b"FAIL",
    b"PENDING", b"state ", b"repeat 3 to c9", b"c1", b"c1_2", b"c4294967296", b"999999999999999999",
    b"calls=", b" hash=", b"```mermaid\n", b"```", b"null", b"true", b"-1", b"1e999", b"\\ud83d",
    b"\xff", b"\xc3", b"\xed\xa0\xbd", b"\xf0\x9f\x98\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
    b'"type"', b'"tool_use"', b'"tool_result"', b'"content"', b'"role"', b'"id"', b'"message"',
)  # fmt: skip
"""What the readers look for, and bytes that are hard to read."""

LONGEST = 20_000
"""Bytes of an input: longer ones are slower and find the same."""


def mutated(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds with up to eight changes of bytes, pieces or lines."""
    data = bytearray(rng.choice(seeds)[:LONGEST])
    for _ in range(rng.randint(1, 8)):
        start = rng.randint(0, len(data))
        end = min(len(data), start + rng.choice((1, 1, 2, 8, 64, 1000)))
        change = rng.randrange(7)
        if change == 0:
            del data[start:end]
        elif change == 1:
            data[start:start] = rng.choice(WORDS)
        elif change == 2:
            data[start:end] = rng.choice(WORDS)
        elif change == 3 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif change == 4:
            data[start:start] = data[start:end] * rng.choice((1, 2, 30))
        elif change == 5:
            other = rng.choice(seeds)
            at = rng.randint(0, len(other))
            data[start:end] = other[at : at + rng.choice((4, 64, 1000))]
        else:
            lines = data.split(b"\n")
            one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[two] = lines[two], lines[one]
            data = bytearray(b"\n").join(lines)
    return bytes(data[: 2 * LONGEST])


def fuzz(
    seconds: float,
    seed: int,
    make: Callable[[random.Random], Input],
    check: Callable[[Input], None],
) -> int:
    """Check new inputs until the time is over; return how many.

    Each input has a generator of its own, so ``seed`` and its number give it again. A failing
    check ends the run with both and the input itself.
    """
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until or number == 0:
        given = make(random.Random(f"{seed}-{number}"))
        try:
            check(given)
        # A panic of the native core derives from BaseException.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            pytest.fail(f"seed {seed}, input {number}: {error!r}\n{given!r}")
        number += 1
    print(f"seed {seed}: {number} inputs in {seconds:g} s")
    return number
