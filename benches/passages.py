"""Real English text that every machine has: the docstrings of Python's standard library."""

from __future__ import annotations

import ast
import re
import sysconfig
from functools import cache
from pathlib import Path

__all__ = ["passages", "questions"]

PARAGRAPH = re.compile(r"\n\s*\n")
# Prose only: what holds code, tables or doctests is no question that anyone would ask.
PLAIN = re.compile(r"[A-Za-z][A-Za-z ,.'-]+")


@cache
def passages(count: int) -> list[str]:
    """Return ``count`` different paragraphs of 5 to 60 words, in the order of module paths."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            for paragraph in PARAGRAPH.split(ast.get_docstring(node) or ""):
                text = " ".join(paragraph.split())
                if 5 <= text.count(" ") + 1 <= 60:
                    found[text] = None
        if len(found) >= count:
            break
    if len(found) < count:
        raise ValueError(f"the standard library here has {len(found)} passages, not {count}")
    return list(found)[:count]


def questions(texts: list[str], *, words: int, count: int) -> list[tuple[int, str]]:
    """Return (row, question) pairs: the last ``words`` plain words of passages that have them.

    Different questions throughout, so that none is answered from a cache of query vectors.
    """
    found: dict[str, int] = {}
    for row, text in enumerate(texts):
        plain = " ".join(PLAIN.findall(text)).split()
        if len(plain) >= words:
            found.setdefault(" ".join(plain[-words:]).lower(), row)
        if len(found) == count:
            break
    if len(found) < count:
        raise ValueError(f"{len(found)} passages have {words} plain words, {count} are needed")
    return [(row, question) for question, row in found.items()]
