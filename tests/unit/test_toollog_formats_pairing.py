"""The pairing rules, one test each, and the model of a call."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any

import pytest

from agentmem.errors import InvalidInputError
from agentmem.toollog.formats import iter_tool_calls, read_messages, tool_calls
from agentmem.toollog.formats.reader import WINDOW
from agentmem.toollog.models import ToolCall, ToolLogWarning


def use(name: str, id_: str | None, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def answer(id_: str | None, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def shape(calls: list[ToolCall]) -> list[tuple[str, str | None, str]]:
    return [(call.name, call.result, call.outcome) for call in calls]


def test_order_is_that_of_the_calls_not_of_the_results() -> None:
    log = [
        assistant(use("a", "1"), use("b", "2")),
        user(answer("2", "second"), answer("1", "first")),
    ]
    assert shape(tool_calls(log)) == [("a", "first", "ok"), ("b", "second", "ok")]


def test_time_never_reorders() -> None:
    late = {"timestamp": "2026-01-02T00:00:00Z", **assistant(use("late", "1"))}
    early = {"timestamp": "2026-01-01T00:00:00Z", **assistant(use("early", "2"))}
    assert [call.name for call in tool_calls([late, early])] == ["late", "early"]


def test_calls_of_one_message_share_a_batch() -> None:
    log = [
        assistant(use("a", "1"), text("and then"), use("b", "2")),
        user(answer("1"), answer("2")),
        assistant(use("c", "3")),
        user(answer("3")),
    ]
    assert [call.batch for call in tool_calls(log)] == [0, 0, 1]


def test_calls_of_one_split_message_share_a_batch_across_results() -> None:
    """Claude Code writes one message over several lines, with results between them."""

    def line(kind: str, message: dict[str, Any]) -> dict[str, Any]:
        return {"type": kind, "uuid": "u", "sessionId": "s", "message": message}

    log = [
        line("assistant", {"id": "m1", **assistant(text("I look"))}),
        line("assistant", {"id": "m1", **assistant(use("a", "1"))}),
        line("user", user(answer("1"))),
        line("assistant", {"id": "m1", **assistant(use("b", "2"))}),
        line("user", user(answer("2"))),
        line("assistant", {"id": "m2", **assistant(use("c", "3"))}),
        line("user", user(answer("3"))),
    ]
    assert [call.batch for call in tool_calls(log)] == [0, 0, 1]


def test_the_first_result_wins_and_the_second_is_named() -> None:
    log = [assistant(use("a", "1")), user(answer("1", "first")), user(answer("1", "second"))]
    with pytest.warns(ToolLogWarning, match="second result for the call '1'") as caught:
        calls = tool_calls(log)
    assert shape(calls) == [("a", "first", "ok")]
    warning = caught[0].message
    assert isinstance(warning, ToolLogWarning)
    assert warning.line == 3
    # No warning where nothing is dropped.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [message.text for message in read_messages(log) if message.role == "tool_result"]
    assert results == ["first", "second"]


def test_an_id_used_again_belongs_to_the_latest_open_call() -> None:
    log = [
        assistant(use("a", "call_0")),
        user(answer("call_0", "A")),
        assistant(use("b", "call_0")),
        user(answer("call_0", "B")),
    ]
    assert shape(tool_calls(log)) == [("a", "A", "ok"), ("b", "B", "ok")]


def test_an_id_reused_while_open_pairs_with_the_latest() -> None:
    log = [
        assistant(use("a", "call_0")),
        assistant(use("b", "call_0")),
        user(answer("call_0", "B")),
        user(answer("call_0", "A")),
    ]
    assert shape(tool_calls(log)) == [("a", "A", "ok"), ("b", "B", "ok")]


def test_one_id_twice_in_one_message_pairs_in_order() -> None:
    log = [assistant(use("a", "x"), use("b", "x")), user(answer("x", "A"), answer("x", "B"))]
    assert shape(tool_calls(log)) == [("a", "A", "ok"), ("b", "B", "ok")]


def test_calls_without_ids_pair_in_order() -> None:
    log = [assistant(use("a", None), use("b", None)), user(answer(None, "A"), answer(None, "B"))]
    assert shape(tool_calls(log)) == [("a", "A", "ok"), ("b", "B", "ok")]


def test_a_result_without_a_call_stands_where_it_came() -> None:
    log = [
        assistant(use("a", "1")),
        user(answer("1")),
        user(answer("lost", "from before the log")),
        assistant(use("b", "2")),
        user(answer("2")),
    ]
    calls = tool_calls(log)
    assert [call.name for call in calls] == ["a", "?", "b"]
    assert (calls[1].id, calls[1].arguments) == ("lost", {})
    assert (calls[1].result, calls[1].outcome) == ("from before the log", "ok")
    assert len({call.batch for call in calls}) == 3


def test_a_result_before_its_call_is_no_result_of_it() -> None:
    log = [user(answer("1", "too early")), assistant(use("a", "1"))]
    assert shape(tool_calls(log)) == [("?", "too early", "ok"), ("a", None, "pending")]


def test_without_a_result_at_the_end_is_pending() -> None:
    log = [assistant(use("a", "1"), use("b", "2")), user(answer("1"))]
    assert shape(tool_calls(log)) == [("a", "done", "ok"), ("b", None, "pending")]


@pytest.mark.parametrize(
    "later", [assistant(text("Go on.")), user(text("Stop.")), assistant(use("b", "2"))]
)
def test_without_a_result_and_the_log_went_on_is_an_error(later: dict[str, Any]) -> None:
    first = tool_calls([assistant(use("a", "1")), later])[0]
    assert (first.result, first.is_error, first.outcome) == (None, True, "error")


def test_null_content_is_an_empty_result() -> None:
    log = [assistant(use("a", "1")), user(answer("1", None))]
    assert shape(tool_calls(log)) == [("a", "", "ok")]


@pytest.mark.parametrize(
    ("content", "fields", "outcome"),
    [
        ("Error: no such flight", {}, "error"),
        ("Error executing tool", {}, "error"),
        ("  <tool_use_error>bad</tool_use_error>", {}, "error"),
        ("Exit code 128\nfatal", {}, "error"),
        ("Exit code 0", {}, "ok"),
        ("Errors: 0", {}, "ok"),
        ("Error.ts", {}, "ok"),
        ("no Error", {}, "ok"),
        ("Error: quoted from a log", {"is_error": False}, "ok"),
        ("all fine", {"is_error": True}, "error"),
        ("all fine", {"is_error": "no"}, "ok"),
    ],
)
def test_the_flag_decides_before_the_text(
    content: str, fields: dict[str, Any], outcome: str
) -> None:
    log = [assistant(use("a", "1")), user(answer("1", content, **fields))]
    assert tool_calls(log)[0].outcome == outcome


def test_logs_of_one_input_do_not_pair_across() -> None:
    episodes = [
        {"messages": [assistant(use("a", "1"))], "reward": 0},
        {"messages": [assistant(use("b", "1")), user(answer("1", "B"))], "reward": 1},
    ]
    calls = tool_calls(episodes)
    assert shape(calls) == [("a", None, "pending"), ("b", "B", "ok")]
    assert [call.batch for call in calls] == [0, 1]


def test_a_stream_gives_up_waiting_after_its_window() -> None:
    log = [assistant(use("lost", "x"))]
    for number in range(WINDOW + 50):
        log += [assistant(use("a", str(number))), user(answer(str(number)))]
    log.append(user(answer("x", "far too late")))
    with pytest.warns(ToolLogWarning, match="second result"):
        streamed = list(iter_tool_calls(log))
    whole = tool_calls(log)
    assert len(streamed) == len(whole) == WINDOW + 51
    assert (whole[0].result, whole[0].outcome) == ("far too late", "ok")
    assert (streamed[0].result, streamed[0].outcome) == (None, "error")
    assert streamed[1:] == whole[1:]


def test_a_stream_gives_calls_out_before_the_log_ends() -> None:
    def endless() -> Any:
        number = 0
        while True:
            number += 1
            yield assistant(use("a", str(number)))
            yield user(answer(str(number)))

    stream = iter_tool_calls(endless())
    assert [next(stream).id for _ in range(1000)] == [str(number + 1) for number in range(1000)]


def test_one_id_many_times_stays_linear() -> None:
    count = 20_000
    calls = [use("a", "x") for _ in range(count)]
    log = [assistant(*calls), user(*[answer("x", str(number)) for number in range(count)])]
    assert [call.result for call in tool_calls(log)] == [str(number) for number in range(count)]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": 1},
        {"arguments": [1]},
        {"arguments": None},
        {"result": b"x"},
        {"started": datetime(2026, 1, 1)},  # noqa: DTZ001 - what is refused
        {"ended": datetime(2026, 1, 1)},  # noqa: DTZ001
    ],
)
def test_a_call_refuses_wrong_fields(fields: dict[str, Any]) -> None:
    good: dict[str, Any] = {"name": "a", "arguments": {}, "result": None}
    ToolCall(**good, started=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        ToolCall(**{**good, **fields})


def test_outcome_of_a_call() -> None:
    assert ToolCall("a", {}, "x").outcome == "ok"
    assert ToolCall("a", {}, "").outcome == "ok"
    assert ToolCall("a", {}, None).outcome == "pending"
    assert ToolCall("a", {}, "x", is_error=True).outcome == "error"
    assert ToolCall("a", {}, None, is_error=True).outcome == "error"
