"""Extractors for tests: one that reads statements of a small language, and ones that misbehave."""

import re
import threading

from agentmem import Candidate

STATEMENT = re.compile(
    r"(fact|persona|instruction|decision|event) (\w+) (\w+)(?: is (\w+)| (ends))?"
)


class Statements:
    """Reads ``fact server port is 80``: kind, subject, attribute and value of each statement."""

    id = "statements-1"

    def __init__(self):
        self.asked = []

    def extract(self, messages, *, context=()):
        del context
        self.asked.append([message.id for message in messages])
        found = []
        for message in messages:
            for match in STATEMENT.finditer(message.text):
                kind, subject, attribute, value, ends = match.groups()
                found.append(
                    Candidate(
                        text=match.group().partition(" ")[2], kind=kind, source=message.id,
                        span=match.span(), subject=subject,
                        attribute=attribute if value or ends else None, value=value,
                        ends=ends is not None, priority=90 if kind == "instruction" else 50,
                    )
                )  # fmt: skip
        return found


class Broken(Statements):
    """Does something else instead of answering, until it is told to work."""

    id = "broken-1"

    def __init__(self, instead):
        super().__init__()
        self.instead = instead

    def extract(self, messages, *, context=()):
        if self.instead is None:
            return super().extract(messages, context=context)
        return self.instead(messages)


def hang(released):
    """Return something to do instead: wait until the event is set."""

    def instead(_messages):
        released.wait(30)
        return []

    return instead


def released():
    return threading.Event()


def say(*lines, role="user", **more):
    """Return messages of one speaker."""
    return [{"role": role, "content": line, **more} for line in lines]
