"""Which skills a reviewer is shown first."""

import math

import numpy as np
import pytest
from tests.skill_help import Canned, body, feed, open_memory

from agentmem import Decision, GivenEmbeddings, Memory
from agentmem.errors import EmbeddingError
from agentmem.skills.reviewer import RuleReviewer
from agentmem.store.guard import StoreWarning

AXES = ({"ship", "release", "publish"}, {"tidy", "clean"}, {"mail", "letter"})


class Synonyms:
    """Puts words of one meaning on one axis; counts what it is asked for."""

    id = "synonyms-1"
    ndim = 4

    def __init__(self):
        self.texts = []
        self.fails = False

    def embed(self, texts):
        if self.fails:
            raise EmbeddingError("the model is gone")
        self.texts += texts
        rows = []
        for text in texts:
            words = set(text.lower().replace(":", " ").replace(".", " ").split())
            row = [float(bool(words & axis)) for axis in AXES]
            row.append(0.0 if any(row) else 1.0)
            rows.append(np.array(row, np.float32) / math.sqrt(sum(row)))
        return np.array(rows, np.float32)


class Seeing:
    """Rejects everything, and remembers the order of what it was shown."""

    id = "seeing-1"

    def __init__(self, **attributes):
        self.shown = []
        self.__dict__.update(attributes)

    def review(self, archive, existing, fingerprints):
        del archive, fingerprints
        self.shown.append([view.name for view in existing])
        return Decision(outcome="reject", reasons=("chat",))


@pytest.fixture
def embedder():
    return Synonyms()


@pytest.fixture
def memory(tmp_path, embedder):
    with Memory(tmp_path / "memory", embedder=embedder) as memory:
        for name, words in (("a-mail", "mail"), ("b-tidy", "tidy"), ("c-ship", "publish")):
            text = body(" ".join(f"{name}{n}" for n in range(30)))
            memory.skills.create(
                name, description=f"How to {words} things.", body=text, owner="ann"
            )
        yield memory


def shown(memory, reviewer):
    feed(memory.skills, "release", f"s{len(reviewer.shown)}")
    (review,) = memory.skills.review(reviewer=reviewer)
    assert review.outcome == "rejected"
    return reviewer.shown[-1]


def test_other_words_of_one_meaning_come_first(memory, embedder):
    reviewer = Seeing()
    assert shown(memory, reviewer)[0] == "c-ship"
    asked = len(embedder.texts)
    assert shown(memory, reviewer)[0] == "c-ship"
    # Each skill was embedded once; the second review embeds only what it is about.
    assert len(embedder.texts) == asked + 1


def test_a_reviewer_that_compares_all_loads_no_embedder(memory, embedder):
    reviewer = Seeing(compares_all=True)
    before = len(embedder.texts)
    assert sorted(shown(memory, reviewer)) == ["a-mail", "b-tidy", "c-ship"]
    memory.skills.review(reviewer=RuleReviewer())
    assert len(embedder.texts) == before


def test_an_embedder_that_fails_leaves_the_words_and_says_so(memory, embedder):
    embedder.fails = True
    with pytest.warns(StoreWarning, match="words alone: the model is gone"):
        assert sorted(shown(memory, Seeing())) == ["a-mail", "b-tidy", "c-ship"]


def test_vectors_of_the_host_are_not_asked_for(tmp_path):
    with open_memory(tmp_path / "memory") as memory:
        assert isinstance(memory._shared.embedder, GivenEmbeddings)
        for name in ("one", "two"):
            feed(memory.skills, name, name)
        memory.skills.review(reviewer=Canned())
        assert set(shown(memory, Seeing())) == {"one", "two"}
