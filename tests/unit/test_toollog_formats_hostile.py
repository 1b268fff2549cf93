"""Bad input: kept, skipped with a named warning, or a typed error; the rest is read."""

from __future__ import annotations

import gzip
import io
import json
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem._native import session_lines
from agentmem.errors import InvalidInputError, ToolLogError
from agentmem.toollog.formats import iter_messages, iter_tool_calls, read_messages, tool_calls
from agentmem.toollog.formats.parts import WARNINGS_PER_LOG
from agentmem.toollog.models import ToolLogWarning


def call(id_: str, name: str = "f", **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id_, "name": name, "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(id_: str, content: Any = "x") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return {"role": "user", "content": [block]}


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


LOG = jsonl(call("1"), result("1", "one"), call("2"), result("2", "two"))


@pytest.mark.parametrize(
    "nothing", [[], (), b"", "", b"\n \r\n", "\ufeff", b"\xef\xbb\xbf", iter(())]
)
def test_nothing_is_an_empty_log(nothing: Any) -> None:
    assert tool_calls(nothing) == []
    assert read_messages(nothing) == []


@pytest.mark.parametrize("wrong", [None, 3, 1.5, object(), "no such file", "x\0y", "\ud83d", True])
def test_what_is_no_log_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="messages"):
        tool_calls(wrong)


def test_a_missing_path_is_the_system_s_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tool_calls(tmp_path / "missing.jsonl")


@pytest.mark.parametrize("junk", [[1, "x", None], {"a": 1}, [{"a": 1}], b"[1, 2]", [[[]], [{}]]])
def test_records_of_no_known_format_are_an_error(junk: Any) -> None:
    for read in (tool_calls, read_messages):
        with pytest.raises(ToolLogError, match="of a known format; name it with format="):
            read(junk)


def test_an_unknown_record_between_is_named_and_kept() -> None:
    log = [call("1"), 17, {"odd": True}, result("1", "one")]
    with pytest.warns(ToolLogWarning, match="2 records of no known format") as caught:
        assert [entry.result for entry in tool_calls(log)] == ["one"]
    assert len(caught) == 1
    assert caught[0].message.line == 2  # type: ignore[union-attr]
    with pytest.warns(ToolLogWarning):
        messages = read_messages(log)
    assert [(message.role, message.raw) for message in messages[1:3]] == [
        ("other", b"17"),
        ("other", b'{"odd":true}'),
    ]


def test_unknown_roles_and_types_are_other() -> None:
    log = [{"role": "critic", "content": "hm"}, {"type": "novel_item", "role": "x"}, call("1")]
    assert [message.role for message in read_messages(log)] == ["other", "other", "tool_call"]


def test_a_torn_last_line_loses_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for cut in range(1, len(LOG)):
        path.write_bytes(LOG[:-cut])
        whole = LOG[:-cut].count(b"\n")
        torn = LOG[:-cut].rsplit(b"\n", 1)[-1]
        try:
            json.loads(torn or b"0")
            expected = 0
        except ValueError:
            expected = 1
        if whole == 0 and expected:
            with pytest.raises(ToolLogError, match="line 1") as error:
                tool_calls(path)
            assert (error.value.file, error.value.line) == (str(path), 1)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calls = tool_calls(path)
        assert len(caught) == expected
        if expected:
            message = caught[0].message
            assert isinstance(message, ToolLogWarning)
            assert (message.file, message.line) == (str(path), whole + 1)
            assert "not JSON" in message.reason
        # A line that lacks nothing but its newline is whole.
        made = whole + (0 if expected or not torn else 1)
        assert len(calls) == (made + 1) // 2
        assert sum(entry.result is not None for entry in calls) == made // 2


@pytest.mark.parametrize("place", range(5))
def test_a_damaged_line_anywhere_is_named(place: int) -> None:
    lines = LOG.splitlines(keepends=True)
    lines.insert(place, b'{"role": "assistant", "content": [\x00\xff\n')
    with pytest.warns(ToolLogWarning, match=f"line {place + 1}: ") as caught:
        calls = tool_calls(b"".join(lines))
    assert len(caught) == 1
    assert [entry.result for entry in calls] == ["one", "two"]


def test_many_damaged_lines_are_counted_not_listed() -> None:
    with pytest.warns(ToolLogWarning) as caught:
        calls = tool_calls(LOG + b"{\n" * 5000)
    assert len(caught) == WARNINGS_PER_LOG
    assert "left out" in str(caught[-1].message)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02" * 1000, b"hello\nworld\n", bytes(range(256)), b"{" * 9999]
)
def test_bytes_that_are_no_log_are_an_error_with_a_line(data: bytes) -> None:
    with pytest.raises(ToolLogError) as error:
        tool_calls(data)
    assert error.value.line == 1


def test_a_torn_array_gives_its_whole_elements() -> None:
    for indent in (None, 2):
        data = json.dumps([call("1"), result("1", "one"), call("2")], indent=indent).encode()
        with pytest.warns(ToolLogWarning, match="damaged after element 2"):
            calls = tool_calls(data[:-20])
        assert [entry.result for entry in calls] == ["one"]


def test_pretty_documents_bom_utf16_and_line_ends() -> None:
    document = json.dumps(
        {"messages": [call("1"), result("1", "đ字")]}, indent=2, ensure_ascii=False
    )
    for data in (
        document.encode(),
        b"\xef\xbb\xbf" + document.encode(),
        document.encode("utf-16"),
        document.replace("\n", "\r\n").encode(),
        b"\n\n" + document.encode(),
    ):
        assert tool_calls(data)[0].result == "đ字"
    assert len(tool_calls(LOG.replace(b"\n", b"\r\n"))) == 2


def test_odd_text_is_kept_as_it_is() -> None:
    odd = "\0 \ud83d \x1b[31m \u202e 👩‍👩‍👧 đặc biệt e\u0302\u0301 字 \r\n"
    log = [call("\0id", "tool\n\0:;", a=odd), result("\0id", odd)]
    for form in (log, jsonl(*log), jsonl(*log).decode(), gzip.compress(jsonl(*log))):
        (entry,) = tool_calls(form)
        assert (entry.name, entry.id, entry.result) == ("tool\n\0:;", "\0id", odd)
        assert entry.arguments == {"a": odd}
        assert all(json.loads(message.raw) for message in read_messages(form))


def test_bytes_that_are_not_utf8_are_replaced_and_named() -> None:
    data = LOG.replace(b'"one"', b'"\xff\xfeone"')
    with pytest.warns(ToolLogWarning, match="line 2: bytes that are not UTF-8"):
        calls = tool_calls(data)
    assert calls[0].result == "\ufffd\ufffdone"
    with pytest.warns(ToolLogWarning):
        assert b"\xff\xfeone" in read_messages(data)[1].raw


def test_numbers_outside_json_are_read() -> None:
    data = (
        b'{"role":"assistant","tool_calls":[{"id":NaN,"function":{"name":"f","arguments":"{}"}}]}'
    )
    assert tool_calls(data)[0].name == "f"


def test_a_deep_record_is_named_and_the_rest_read() -> None:
    deep = b'{"role":"user","content":' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    with pytest.warns(ToolLogWarning, match="line 3: .*nested too deeply"):
        calls = tool_calls(jsonl(call("1"), result("1")) + deep + jsonl(call("2")))
    assert len(calls) == 2
    nested: Any = "x"
    for _ in range(5000):
        nested = [nested]
    assert tool_calls([call("1"), result("1", nested)])[0].name == "f"
    assert tool_calls([call("1"), result("1", [{"type": "x", "content": nested}])])[0].name == "f"
    for read in (tool_calls, read_messages):
        with pytest.raises(ToolLogError):
            read(nested)


def test_an_object_that_holds_itself_is_read() -> None:
    loop: dict[str, Any] = {"type": "odd"}
    loop["self"] = loop
    assert tool_calls([call("1"), result("1", [loop])])[0].outcome == "ok"


def test_damaged_gzip_gives_what_precedes_the_damage(tmp_path: Path) -> None:
    lines = [
        record for number in range(20_000) for record in (call(str(number)), result(str(number)))
    ]
    packed = gzip.compress(jsonl(*lines))
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.warns(ToolLogWarning) as caught:
        calls = tool_calls(path)
    assert "compressed data is damaged" in str(caught[0].message)
    assert all("not JSON" in str(warning.message) for warning in caught[1:])
    assert len(caught) <= 2
    assert 5_000 < len(calls) < 15_000
    assert [entry.id for entry in calls] == [str(number) for number in range(len(calls))]


def test_gzip_of_several_members() -> None:
    first, second = LOG[: LOG.index(b"\n") + 1], LOG[LOG.index(b"\n") + 1 :]
    assert tool_calls(gzip.compress(first) + gzip.compress(second)) == tool_calls(LOG)


def test_a_result_of_100_mb_is_kept_whole() -> None:
    big = "x" * 100_000_000
    (entry,) = tool_calls([call("1"), result("1", big)])
    assert entry.result is big
    line = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"'
    data = jsonl(call("1")) + line + big.encode() + b'"}]}\n'
    start = time.process_time()
    (entry,) = tool_calls(io.BytesIO(data).getvalue())
    assert entry.result == big
    # Reading in pieces must not copy what it has at each piece.
    assert time.process_time() - start < 10


def test_a_stream_holds_no_more_than_it_must(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        for number in range(10_000):
            file.write(jsonl(call(str(number)), result(str(number), "y" * 2000)))
    tracemalloc.start()
    count = sum(1 for _ in iter_tool_calls(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    # Some chunks, and the ids that were answered, to know a second result.
    assert peak < 8_000_000
    assert path.stat().st_size > 20_000_000


def test_messages_come_before_the_log_ends() -> None:
    def endless() -> Iterator[Any]:
        while True:
            yield call("1")
            yield result("1")

    stream = iter_messages(endless())
    found = [next(stream) for _ in range(4)]
    assert [(message.role, message.batch, message.record) for message in found] == [
        ("tool_call", 0, 0),
        ("tool_result", None, 1),
        ("tool_call", 1, 2),
        ("tool_result", None, 3),
    ]


def lines_to_decode(text: bytes) -> list[bytes]:
    """Return what is decoded of each line that can hold calls."""
    found, count = session_lines(text, 0)
    assert count == text.count(b"\n") + 1
    return [text[start : end if copy < 0 else copy] for _, start, end, copy in found]


HOOK = (
    '{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"progress",'
    '"data":{"type":"hook_progress","hookName":"x"},"uuid":"u"}'
)


def test_only_whole_hook_lines_are_passed_over() -> None:
    assert lines_to_decode(HOOK.encode()) == []
    quoted = json.dumps({"parentUuid": None, "sessionId": "s", "type": "user", "x": HOOK})
    inside = '{"parentUuid":null,"sessionId":"s","message":{"type":"message"},' + HOOK[40:]
    for line in (HOOK[:-1], quoted, inside, HOOK.replace("hook_progress", "agent_progress")):
        assert lines_to_decode(line.encode()) == [line.encode()]


def said(message: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a line of the agent as Claude Code writes it."""
    inner = {"model": "m", "id": message, "type": "message", "role": "assistant"}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "message": {**inner, "content": list(blocks)},
        "type": "assistant",
        "uuid": "u",
        **more,
    }


WORDS = {"type": "text", "text": 'see "tool_use" and "tool_result".'}
CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}


def test_words_are_passed_over_before_more_of_their_message() -> None:
    lines = [compact(said("m1", WORDS)), compact(said("m1", WORDS)), compact(said("m1", CALL))]
    assert lines_to_decode(b"\n".join(lines)) == lines[2:]
    snapshot = compact({"type": "file-history-snapshot", "messageId": "x"})
    assert lines_to_decode(b"\n".join((lines[0], snapshot, HOOK.encode(), lines[2]))) == lines[2:]
    assert lines_to_decode(snapshot[:-1]) == [snapshot[:-1]]
    kept = (
        said("m2", CALL),
        said("m1", {"type": "thinking", "thinking": ""}),
        said("m1", CALL, isMeta=True),
        said("m1", CALL, isSidechain=True),
        {**said("m1", CALL), "type": "user"},
    )
    for after in kept:
        lines[2] = compact(after)
        assert lines_to_decode(b"\n".join(lines)) == lines[1:]
    lines[2] = compact(said("m1", CALL))[:-1]
    assert lines_to_decode(b"\n".join(lines)) == lines[1:]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["m1", "m2"]),
            st.sampled_from(["words", "call", "both", "thought", "result"]),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_passing_over_lines_changes_no_call(shape: list[tuple[str, str, bool]]) -> None:
    records = []
    for number, (message, kind, is_sidechain) in enumerate(shape):
        tool = {**CALL, "id": f"t{number}"}
        thought = {"type": "thinking", "thinking": "x"}
        found = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "done"}
        if kind == "result":
            record = {**said(message, found), "type": "user"}
            record["message"]["role"] = "user"
        else:
            blocks = {"words": [WORDS], "call": [tool], "both": [WORDS, tool], "thought": [thought]}
            record = said(message, *blocks[kind], isSidechain=is_sidechain)
        records.append(record)
    text = b"\n".join(map(compact, records))
    if records:
        assert tool_calls(text, format="claude-code") == tool_calls(records, format="claude-code")


def copied(copy: dict[str, Any], **more: Any) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": "t", "content": "Error: no, a quote"}]
    message = {"role": "user", "content": content}
    head = {"parentUuid": None, "sessionId": "s", "type": "user", "message": message}
    return {**head, **more, "uuid": "u", "toolUseResult": copy}


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def test_copies_of_results_are_not_decoded_and_change_nothing() -> None:
    inner = copied({"stdout": "x" * 1000})
    deep = copied({"note": ',"toolUseResult":{'}, extra={"a": 1, "toolUseResult": {"b": 2}})
    agent = copied({"agentId": "a1"})
    named = {**inner, "sourceToolAssistantUUID": "0" * 36}
    for record in (inner, named):
        (line,) = lines_to_decode(compact(record))
        assert len(line) < 300
    for line in (compact(agent), compact(inner)[:-1], compact(inner)[:-2]):
        assert lines_to_decode(line) == [line]
    start = jsonl({"parentUuid": None, "sessionId": "s", "type": "system"})
    for record in (inner, deep, agent, named):
        (read,) = tool_calls(start + compact(record))
        (given,) = tool_calls([record])
        assert read == given
        assert read.result == "Error: no, a quote"
        assert not read.is_error


def lines_of(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield jsonl(call(str(number)), result(str(number)))


def test_lines_may_come_one_by_one() -> None:
    """An iterable of JSONL lines, as an open file is."""
    lines = [line for pair in lines_of(3) for line in pair.splitlines(keepends=True)]
    assert len(tool_calls(lines)) == 3
    assert len(tool_calls([line.decode() for line in lines])) == 3


def test_open_files_are_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps([call("1"), result("1", "đ")], indent=2, ensure_ascii=False), "utf-8"
    )
    packed = gzip.compress(path.read_bytes())

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with path.open("rb") as binary, path.open(encoding="utf-8") as words:
        for file in (binary, words, io.BytesIO(packed), Pipe(packed), Pipe(path.read_bytes())):
            assert [entry.result for entry in tool_calls(file)] == ["đ"]


def test_a_bad_line_among_given_lines_is_named() -> None:
    lines = [b'{"torn', *LOG.splitlines()]
    with pytest.warns(ToolLogWarning, match="line 1: 1 record of no known format"):
        assert len(tool_calls(lines)) == 2
