"""Vectors that a host gives: any with a direction is taken, whatever its length."""

from fractions import Fraction

import numpy as np
import pytest

from agentmem import GivenEmbeddings, InvalidInputError, Memory
from agentmem.tiers.fact_input import PLAIN
from agentmem.tiers.vectors import given_vector, given_vectors

DIRECTION = np.array([3.0, -4.0])
UNIT = np.array([0.6, -0.8])


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=GivenEmbeddings("host", 2)) as memory:
        yield memory


EXPONENTS = (-320, -200, -44, -30, -15, 0, 15, 30, 37, 200, 307)


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        (dtype, exponent)
        for dtype in (np.float32, np.float64, np.longdouble, list)
        for exponent in EXPONENTS
        if dtype is not np.float32 or -38 <= exponent <= 37  # what a float32 holds
    ],
)
def test_any_length_gives_the_unit_vector(memory, dtype, exponent):
    """Warnings are errors here, so none escapes."""
    given = DIRECTION * float(f"1e{exponent}")
    given = given.tolist() if dtype is list else given.astype(dtype)
    wanted = pytest.approx(UNIT, abs=1e-3 if exponent < -300 else 1e-6)
    assert given_vector(given, 2) == wanted
    (raw,) = given_vectors([PLAIN._replace(embedding=given)], 2)
    assert np.frombuffer(raw, np.float32) == wanted

    fact = memory.remember("a fact", embedding=given)
    (hit,) = memory.recall("nothing", embedding=given)
    assert hit.id == fact.id
    assert memory.recall_many(["nothing"], embeddings=[given])[0][0].id == fact.id


def test_lengths_may_differ_from_fact_to_fact(memory):
    memory.remember_many(
        [
            {"text": f"fact {at}", "embedding": DIRECTION * 10.0**at}
            for at in (-250, -30, 0, 30, 250)
        ]
    )
    rows = memory.sql("SELECT vector FROM embeddings")
    assert len(rows) == 5
    for (raw,) in rows:
        assert np.frombuffer(raw, np.float32) == pytest.approx(UNIT, abs=1e-6)


def test_a_unit_vector_is_kept_bit_for_bit_beside_others():
    unit = np.random.default_rng(1).standard_normal((64, 7)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    items = [PLAIN._replace(embedding=row) for row in (*unit, np.full(7, 5, np.float32))]
    assert given_vectors(items, 7)[:-1] == [row.tobytes() for row in unit]


def test_whole_numbers_and_fractions_are_numbers():
    assert given_vector([3 * 10**300, -4 * 10**300], 2) == pytest.approx(UNIT)
    assert given_vector([Fraction(3, 7), Fraction(-4, 7)], 2) == pytest.approx(UNIT)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.0, -0.0], "a zero vector has no direction and can't be compared; give the vector"),
        (np.zeros(2, np.float64), "a zero vector has no direction"),
        ([float("nan"), 1.0], "it holds NaN or an infinite"),
        ([float("inf"), 1.0], "it holds NaN or an infinite"),
        ([10**400, 1], "numbers are needed: int too large"),
        ([1j, 1.0], "numbers are needed, complex128 was given"),
        (np.array([1j, 1.0]), "numbers are needed, complex128 was given"),
        (["1", "2"], "numbers are needed, <U1 was given"),
        ([[1.0], [1.0, 2.0]], "numbers are needed"),
        ([[1.0, 2.0]], "one vector is needed, an array of shape"),
    ],
)
def test_what_has_no_direction_says_so(memory, given, message):
    with pytest.raises(InvalidInputError, match=f"^embedding: {message}"):
        memory.remember("a fact", embedding=given)
    with pytest.raises(InvalidInputError, match=f"^embedding: {message}"):
        memory.recall("a fact", embedding=given)
    with pytest.raises(InvalidInputError, match=rf"^embeddings\[0\]: {message}"):
        memory.recall_many(["a fact"], embeddings=[given])
    assert memory.stats().facts == 0
