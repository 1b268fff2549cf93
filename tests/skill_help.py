"""What the tests of skills share: conversations, bodies, and a canned reviewer."""

from agentmem import Decision, Draft, Evidence, GivenEmbeddings, Memory
from agentmem.skills.body import SECTIONS

SPACE = GivenEmbeddings(id="test", ndim=2)


def open_memory(path, **options):
    return Memory(path, embedder=SPACE, **options)


def call(number, name="run", arguments=None):
    """An assistant's message that makes one call."""
    text = arguments if arguments is not None else f'{{"step":{number}}}'
    function = {"name": name, "arguments": text}
    return {
        "role": "assistant",
        "tool_calls": [{"id": f"call-{number}", "type": "function", "function": function}],
    }


def result(number, text="done", is_error=False):
    message = {"role": "tool", "tool_call_id": f"call-{number}", "content": text}
    return message | ({"is_error": True} if is_error else {})


def user(text):
    return {"role": "user", "content": text}


def pairs(count, start=0, text="done"):
    """A conversation of ``count`` calls with their results."""
    log = []
    for number in range(start, start + count):
        log += [call(number), result(number, text)]
    return log


def body(text=""):
    return "\n".join(f"## {name}\n{name} {text}" for name in SECTIONS)


def draft(name="deploy", text=""):
    return Draft(name=name, description=f"Does {name}. Use when asked.", body=body(text or name))


class Canned:
    """Makes one skill of each distinct thing that a user asks for; a second time is a duplicate."""

    id = "canned-1"

    def __init__(self, also=None):
        self.also = also

    def review(self, archive, existing, fingerprints):
        del fingerprints
        if self.also is not None:
            self.also(archive)
        asked = next(message for message in archive.messages if message.role == "user")
        name = asked.text.split()[-1]
        if any(view.name == name for view in existing):
            return Decision(outcome="reject", reasons=("duplicate",), skill=name)
        sources = tuple(one.source for one in archive.calls)
        return Decision(
            outcome="create",
            reasons=("repeated",),
            draft=draft(name, " ".join(f"{name}{place}" for place in range(20))),
            evidence=(Evidence(archive=archive.id, sources=sources),),
        )


def feed(skills, name, session, calls=3, owner="ann"):
    """Archive one conversation that asks for a skill of this name."""
    skills.add([user(f"please make {name}"), *pairs(calls)], session=session, owner=owner)
    return skills.archive(session, owner=owner)
