"""Conversations made by rule, in which an answer does not repeat what it is about.

"Did Anna fix the violin?" – "Yes, on Tuesday at the luthier's": a question about the violin is
answered by a turn that never names it, as in real talk. Nothing in it is drawn from any data.
"""

from __future__ import annotations

import random

from benches.quality.formats import Collection, Document, Question

__all__ = ["conversations"]

PEOPLE = ("Anna", "Bao", "Chen", "Dina", "Erik", "Farah", "Goran", "Hoa", "Ivan", "Jun")
THINGS = (
    "violin", "kayak", "passport", "printer", "tent", "telescope", "bicycle", "sofa", "camera",
    "boiler", "aquarium", "drone", "piano", "greenhouse", "scooter", "projector", "loom", "canoe",
    "typewriter", "hammock",
)  # fmt: skip
ASKED = (
    "What happened to the {thing} of {person}?",
    "Did {person} get anywhere with the {thing}?",
    "Any news about {person}'s {thing}?",
)
ANSWERS = (
    "It went to the workshop on {day}, they want {price} for it.",
    "Sold on {day}, for {price} and a box of oranges.",
    "Stuck at customs until {day}, the fee is {price}.",
    "Given back on {day}; the deposit of {price} is gone.",
)
SMALL_TALK = (
    "Sounds good to me.", "I was late again this morning.", "The weather is awful today.",
    "Let us talk about it over lunch.", "Same here, what a week.", "Did you sleep well?",
    "My coffee went cold during the call.", "The train was full again.", "I agree with that.",
    "Nothing new on my side.", "That made me laugh.", "Give me a minute, the door.",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
QUESTION = "How much was paid in the matter of {person}'s {thing}?"


def conversations(count: int = 100, *, seed: int = 5) -> Collection:
    """Return ``count`` conversations of 14 turns with two asked things each, and their questions.

    At most 100. The evidence is the turn that names the thing and the one after it that answers.
    """
    made = random.Random(seed)
    pairs = [(person, thing) for person in PEOPLE for thing in THINGS]
    made.shuffle(pairs)
    documents: list[Document] = []
    questions: list[Question] = []
    for number in range(count):
        turns = [made.choice(SMALL_TALK) for _ in range(14)]
        for place in (made.randrange(1, 6), made.randrange(7, 12)):
            person, thing = pairs[len(questions)]
            turns[place] = made.choice(ASKED).format(person=person, thing=thing)
            turns[place + 1] = made.choice(ANSWERS).format(
                day=made.choice(DAYS), price=f"{made.randrange(20, 900)} euros"
            )
            evidence = tuple(f"talk {number}/{at}" for at in (place, place + 1))
            text = QUESTION.format(person=person, thing=thing)
            questions.append(Question(f"q{len(questions)}", text, "generated", evidence))
        for place, text in enumerate(turns):
            name = f"talk {number}/{place}"
            speaker = "AB"[place % 2]
            documents.append(
                Document(name, name, f"{speaker}: {text}", "", f"talk {number}", place, "")
            )
    return Collection("generated talk", "en", tuple(documents), tuple(questions))
