"""docs/skills.md says what the reviewer says, and a body looks as it did."""

import re
from pathlib import Path

import pytest
from tests.skill_archives import rollback, skill_of

from agentmem.models.skills import REASONS
from agentmem.skills.reviewer import RuleReviewer

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "skills"


def test_the_table_has_every_reason_and_no_other():
    text = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
    table = text.partition("## Fact or skill?")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == set(REASONS)


def bodies():
    review = RuleReviewer().review
    first = review(rollback("checkout", "shop-prod", "41", "pay.acme.test"), (), ())
    second = review(
        rollback("mailer", "comms", "17", "mail.acme.test", id="archive:2", extra=True),
        (),
        first.fingerprints,
    )
    third = review(
        rollback("thumbs", "media", "9", "img.acme.test", id="archive:3", wrong=True, swap=True),
        [skill_of(second)],
        (),
    )
    asked = review(
        rollback("checkout", "shop-prod", "41", "pay.acme.test", intent="Undo a bad deployment"),
        (),
        (),
    )
    return {"repeated": second, "better": third, "intent": asked}


@pytest.mark.parametrize("name", ["repeated", "better", "intent"])
def test_golden_bodies(name, request):
    draft = bodies()[name].draft
    text = f"{draft.name}\n{draft.description}\n\n{draft.body}"
    path = GOLDEN / f"{name}.md"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
