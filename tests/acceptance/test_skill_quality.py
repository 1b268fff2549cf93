"""The reviewer reaches the figures that were asked for, on the labels made before it."""

import gzip
import json

import pytest
from benches.corpus import data_folder
from benches.quality import recurrences
from benches.quality.skills import (
    LABELS,
    World,
    judge_imports,
    judge_procedures,
    judge_skills,
    view_of,
)


def labels(name):
    path = LABELS / name
    if not path.exists():
        pytest.skip(f"no labels at {path}")
    return path


@pytest.fixture(scope="module")
def reviewed():
    return judge_skills(labels("skills.jsonl"), data_folder(), verbose=False)


def test_what_is_worth_a_skill(reviewed):
    assert reviewed["precision"] >= 0.9
    assert reviewed["recall"] >= 0.7


def test_the_same_procedure_updates_and_does_not_duplicate(reviewed):
    accepted, all_of_them = map(int, reviewed["recurrences accepted"].split("/"))
    assert accepted >= 0.9 * all_of_them
    assert reviewed["second skills"] == 0


def test_nothing_rests_on_failed_or_poisoned_material(reviewed):
    assert reviewed["skills resting on failed or poisoned material"] == 0


def test_without_a_host_s_word_only_visible_success_counts():
    got = judge_skills(labels("skills.jsonl"), data_folder(), verbose=False, signals=False)
    assert got["precision"] >= 0.9
    assert got["recall"] >= 0.7
    assert got["skills resting on failed or poisoned material"] == 0


@pytest.mark.parametrize("is_told", [True, False], ids=["rewards", "no-rewards"])
def test_no_airline_episode_without_reward_supports_a_skill(is_told):
    data = data_folder()
    path = data / "toollogs/openai/airline-60.jsonl.gz" if data else None
    if path is None or not path.exists():
        pytest.skip("the recorded episodes are not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        episodes = [json.loads(line) for line in lines]
    world = World()
    for number, episode in enumerate(episodes):
        rewarded = episode["reward"] == 1
        world.review(
            view_of(
                episode["messages"],
                id=str(number),
                owner="desk",
                succeeded=rewarded if is_told else None,
            )
        )
    supports = {
        int(evidence.archive)
        for skills in world.skills.values()
        for skill in skills
        for evidence in skill.evidence
    }
    assert [number for number in supports if episodes[number]["reward"] != 1] == []


def test_a_procedure_in_other_words_is_known_again():
    got = recurrences.judge(labels("recurrences-second.jsonl"), verbose=False)
    known, all_of_them = map(int, got["known again"].split("/"))
    assert all_of_them >= 20
    assert known >= 0.9 * all_of_them
    assert got["not learned from two runs"] == 0


def test_held_out_runs():
    got = judge_procedures(labels("procedures.jsonl"), verbose=False)
    assert got["procedures"] >= 15
    assert got["calls explained, mean"] >= 0.9
    bound, total = map(int, got["true values bound"].split("/"))
    assert bound == total
    assert got["literals left"] == 0


def test_malicious_imports_are_refused_or_flagged():
    got = judge_imports(labels("imports.jsonl"), malicious=True, verbose=False)
    assert sum(got.values()) == 60
    assert got.get("clean", 0) <= 3


def test_benign_imports_are_left_alone():
    got = judge_imports(labels("imports-benign.jsonl"), malicious=False, verbose=False)
    assert sum(got.values()) == 100
    assert got.get("flagged", 0) + got.get("refused", 0) <= 3
