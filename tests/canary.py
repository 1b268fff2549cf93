"""A store full of a canary, and a search for every byte of it in every file of a folder."""

import hashlib

import numpy as np
from tests.extractors import Statements, say

from agentmem import Memory

NDIM = 24
WORD = "zebrafishquartz"
OTHER = "heronbasalt"


class Hashed:
    """Vectors that only a text's hash decides: those of the canary's texts are nobody else's."""

    id = "hashed"
    ndim = NDIM

    def embed(self, texts):
        rows = []
        for text in texts:
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
            rows.append(np.random.default_rng(seed).standard_normal(NDIM))
        matrix = np.array(rows, np.float32).reshape(-1, NDIM)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def opened(folder, **options):
    return Memory(folder, embedder=Hashed(), extractor=Statements(), redact=False, **options)


def log(word, session):
    return [
        *say(f"persona user pet is {word}", f"decision team host is {word}2 and so on"),
        *say(f"The {word} file is long: " + " ".join(f"{word}{n}" for n in range(400))),
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"{session}-1", "type": "function",
             "function": {"name": "read", "arguments": f'{{"path": "{word}.txt"}}'}}]},
        {"role": "tool", "tool_call_id": f"{session}-1",
         "content": "\n".join(f"line {n} of the {word} report" for n in range(300))},
        *say(f"event user trip is {word}3", role="user"),
    ]  # fmt: skip


def fill(memory):
    """Two sessions in one scope, one with the canary; its words reach every tier."""
    for word, session in ((WORD, "bad"), (OTHER, "good")):
        memory.capture(log(word, session), session=session)
        memory.remember(f"A {word} was asserted.", key=f"key-{word}", tags=[word],
                        metadata={word: word}, session=session)  # fmt: skip
        memory.consolidate()
    assert memory.persona().version >= 1
    assert memory.scenes()


def traces(memory, word):
    """Return what of a word's rows must not be found: its text, its vectors, its payloads."""
    session = "bad" if word == WORD else "good"
    with memory._shared.database.read() as connection:
        keys = [
            tier << 56 | number
            for tier, table in ((0, "turns"), (1, "facts"))
            for (number,) in connection.execute(
                f"SELECT id FROM {table} WHERE session = ?", (session,)
            )
        ]
        vectors = [
            vector
            for key in keys
            for (vector,) in connection.execute(
                "SELECT vector FROM embeddings WHERE id BETWEEN ?1 * 8 AND ?1 * 8 + 7", (key,)
            )
        ]
        payloads = {True: [], False: []}
        for content, is_its in connection.execute(
            "SELECT content, id IN (SELECT text_id FROM turns WHERE session = ?1 UNION SELECT "
            "payload_id FROM records JOIN turns ON turns.record_id = records.id WHERE session = ?1)"
            " FROM payloads",
            (session,),
        ):
            payloads[bool(is_its)].append(content)
    assert vectors
    assert payloads[True]
    found = [word.encode(), word.encode("utf-16-le"), word.upper().encode()]
    found += [vector[:32] for vector in vectors]
    others = b"\0".join(payloads[False])
    for content in payloads[True]:
        pieces = [content[start : start + 24] for start in range(24, len(content) - 48, 64)]
        # Short records differ in the word alone: what they share is no trace.
        found += [piece for piece in pieces if piece not in others]
    return found


def finds(folder, needles):
    """Return ``(file, needle)`` of each needle in any file of a folder."""
    return [
        (path.name, needle)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for content in (path.read_bytes(),)
        for needle in needles
        if needle in content
    ]
