"""How many identifiers that a task needs later are still to be seen.

Counted are identifiers in later short arguments whose only earlier source is a tool result: words with
a digit, ``_``, ``/`` or ``.``, camel case or capitals, in scalars of at most 200 characters.
"""

from __future__ import annotations

import json
import re

WORD = re.compile(r"[A-Za-z0-9_./#@-]{3,}")
TELLING = re.compile(r"\d|_|[^/]/[^/]|\.|[a-z][A-Z]|^[A-Z]{3,}$")
SHORT = 200


def identifiers(text):
    words = (word.strip(".-/#@") for word in WORD.findall(text))
    return {word for word in words if len(word) >= 3 and TELLING.search(word)}


def scalars(arguments):
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return [arguments]
    out, waiting = [], [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            out.append(str(value))
    return out


def whole(arguments):
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def carried(calls, shown):
    """Return needed and kept identifiers; ``shown[i]`` is what stands in place of call i."""
    needed = kept = 0
    named, results, before = set(), "", ""
    for call, text in zip(calls, shown, strict=True):
        words = set()
        for scalar in scalars(call.arguments):
            if len(scalar) <= SHORT:
                words |= identifiers(scalar)
        for word in words - named:
            if word in results:
                needed += 1
                kept += word in before
        named |= words | identifiers(whole(call.arguments))
        results += "\n" + (call.result or "")
        before += "\n" + text
    return needed, kept


def carry_over(calls, canvas):
    """``carried`` of a canvas: what its steps say, with the root that its header says."""
    shown = [""] * len(calls)
    for step, index in zip(canvas.steps, canvas.order, strict=True):
        shown[index] = f"{step.tool} {step.arguments_summary} {step.result_summary}"
    if shown:
        shown[0] = canvas.root + " " + shown[0]
    return carried(calls, shown)
