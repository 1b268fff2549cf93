"""Captured logs: verbatim, once each, in order, with the trust of who spoke."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from tests.host_logs import anthropic_pair, long_log, openai_pair
from tests.real_logs import data_folder

from agentmem import (
    AsyncMemory,
    GivenEmbeddings,
    InvalidInputError,
    Memory,
    NotFoundError,
    ToolLogError,
    Trust,
    compress,
    tool_calls,
)
from agentmem.store import Database, migrations

SPACE = GivenEmbeddings(id="test", ndim=4)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as opened:
        yield opened


def files():
    return sorted((data_folder() / "toollogs").rglob("*.gz"))


def texts(memory, session):
    rows = memory.sql("SELECT id FROM turns WHERE session = ? ORDER BY id", (session,))
    return [memory.get(f"L0:{row[0]}").text for row in rows]


def test_records_that_all_say_the_same_cost_linear_work(memory):
    same = [{"role": "user", "content": "again"}] * 8_000
    start = time.process_time()
    assert memory.capture(same, session="s").new == 8_000
    assert time.process_time() - start < 5
    start = time.process_time()
    other = [{"role": "user", "content": "other"}]
    captured = memory.capture([*other, *same], session="s")
    assert (len(captured.ids), captured.duplicates > 0) == (8_001, True)
    assert time.process_time() - start < 5


def test_a_stored_record_is_known_once(memory):
    again = {"role": "user", "content": "again"}
    first, changed, last = ({"role": "user", "content": word} for word in ("one", "two", "end"))
    memory.capture([first, *[again] * 5], session="s")
    captured = memory.capture([changed, *[again] * 20, last], session="s")
    assert captured.new >= 17
    assert len(set(captured.ids)) == len(captured.ids)
    told = texts(memory, "s")
    assert told.count("again") == 20
    assert told.count("two") == told.count("end") == 1


def test_a_repetition_given_alone_is_a_replay(memory):
    turn = [{"role": "user", "content": "Run it."}, *openai_pair(1, "done")]
    for message in turn:
        for call in message.get("tool_calls", ()):
            call.pop("id")
        message.pop("tool_call_id", None)
    memory.capture(turn, session="s")
    assert memory.capture(turn, session="s").new == 0
    assert memory.capture(turn[1:], session="s").new == 0
    assert memory.capture([*turn, *turn], session="s").new == len(turn)


def test_an_imported_session_is_captured_anew(memory, tmp_path):
    log = long_log(openai_pair, 3)
    turns = memory.capture(log, session="s").new
    memory.export(tmp_path / "export.jsonl")
    with Memory(tmp_path / "other", embedder=SPACE) as other:
        other.import_(tmp_path / "export.jsonl")
        assert other.stats().turns == turns
        with pytest.raises(NotFoundError):
            other.canvas("s")
        assert other.capture(log, session="s").new == turns
        assert str(other.canvas("s")) == str(memory.canvas("s"))


class TestRows:
    def test_every_part_is_a_typed_row_with_the_trust_of_its_speaker(self, memory):
        time = "2026-05-01T10:00:00Z"
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "List the files.", "name": "Alice", "timestamp": time},
            *openai_pair(1, "a.py\nb.py"),
            {"role": "assistant", "content": "Two."},
        ]
        captured = memory.capture(messages, session="s1")
        assert (len(captured.ids), captured.new, captured.duplicates) == (5, 5, 0)
        turns = [memory.get(one) for one in captured.ids]
        assert [turn.kind for turn in turns] == [
            "system", "user", "tool_call", "tool_result", "assistant",
        ]  # fmt: skip
        assert [turn.trust for turn in turns] == [
            Trust.ASSISTANT, Trust.USER, Trust.ASSISTANT, Trust.TOOL, Trust.ASSISTANT,
        ]  # fmt: skip
        assert {turn.origin for turn in turns} == {"captured"}
        assert {turn.session for turn in turns} == {"s1"}
        assert turns[1].event_time == datetime(2026, 5, 1, 10, tzinfo=UTC)
        assert turns[1].speaker == "Alice"
        assert turns[3].text == "a.py\nb.py"
        assert [turn.position for turn in turns] == sorted(turn.position for turn in turns)

    def test_the_record_is_kept_byte_for_byte(self, memory):
        line = b'{"role": "user",  "content": "h\\u00e9", "extra": {"b":1, "a":2}}'
        (one,) = memory.capture(line, session="s").ids
        assert memory.expand(one, part="record").encode() == line
        assert memory.expand(one) == "hé"

    def test_odd_texts_come_back_as_they_were(self, memory):
        odd = ["", "\0", "\ud83d alone", "phở", "phở", "שלום", "日本語", "x" * 5_000, "😀" * 2_000,
               "\ud800" * 3_000, "a\r\nb\u2028c"]  # fmt: skip
        messages = [m for n, text in enumerate(odd) for m in openai_pair(n, text)]
        memory.capture(messages, session="s")
        assert [memory.expand(f"c{n + 1}") for n in range(len(odd))] == odd
        assert memory.verify().ok

    def test_the_same_long_result_is_stored_once(self, memory):
        rng_text = hashlib.sha256(b"x").hexdigest() * 200
        memory.capture([m for n in range(20) for m in openai_pair(n, rng_text)], session="s")
        held = memory.sql("SELECT count(*) FROM payloads WHERE size = ?", (len(rng_text),))
        assert held == [(1,)]

    def test_names_of_tools_may_be_anything(self, memory):
        names = ["a b", "\ud83d", "", "x\ny", "名"]
        messages = [m for n, name in enumerate(names) for m in openai_pair(n, "r", name=name)]
        memory.capture(messages, session="s")
        assert [step.tool for step in memory.canvas("s").steps] == names


class TestReplay:
    @pytest.mark.parametrize("pair", [openai_pair, anthropic_pair])
    def test_a_growing_history_adds_only_its_tail(self, memory, pair):
        messages = long_log(pair, 12)
        ids = ()
        for end in range(1, len(messages) + 1):
            captured = memory.capture(messages[:end], session="s")
            assert captured.ids[: len(ids)] == ids
            assert captured.new == len(captured.ids) - len(ids) > 0
            ids = captured.ids
        again = memory.capture(messages, session="s")
        assert (again.new, again.ids) == (0, ids)
        with Memory(memory.path.parent / "at once", embedder=SPACE) as other:
            other.capture(messages, session="s")
            assert texts(other, "s") == texts(memory, "s")
            assert str(other.canvas("s")) == str(memory.canvas("s"))

    def test_equal_messages_of_one_history_are_all_kept(self, memory):
        messages = [
            {"role": "user", "content": text} for text in ("go on", "stop", "go on", "go on")
        ]
        for end in range(1, 5):
            assert memory.capture(messages[:end], session="s").new == 1
        assert memory.capture(messages, session="s").new == 0
        assert texts(memory, "s") == ["go on", "stop", "go on", "go on"]

    def test_a_window_that_slides_adds_what_is_new(self, memory):
        words = ["a", "yes", "b", "yes", "c", "yes", "d", "yes", "yes"]
        messages = [{"role": "user", "content": word} for word in words]
        for end in range(3, len(words) + 1):
            memory.capture(messages[end - 3 : end], session="s")
        assert texts(memory, "s") == words

    def test_words_that_come_again_are_new_beside_new_ones(self, memory):
        turns = [
            [{"role": "user", "content": "yes"}, {"role": "assistant", "content": f"did {n}"}]
            for n in range(6)
        ]
        for turn in turns:
            assert memory.capture(turn, session="s").new == 2
        for turn in turns:
            assert memory.capture(turn, session="s").new == 0
        assert texts(memory, "s").count("yes") == 6

    def test_a_changed_first_message_is_no_new_log(self, memory):
        log = long_log(openai_pair, 6)
        for hour in range(3):
            first = {"role": "system", "content": f"It is {hour} o'clock."}
            end = len(log) - 4 + 2 * hour
            captured = memory.capture([first, *log[:end]], session="s")
            assert captured.new == (1 + end if hour == 0 else 3)
        assert [memory.expand(f"c{n}") for n in range(1, 7)] == [
            message["content"] for message in log if message["role"] == "tool"
        ]

    def test_the_newest_alone_may_be_given(self, memory):
        messages = long_log(openai_pair, 12)
        for at in range(0, len(messages), 3):
            memory.capture(messages[at : at + 3], session="s")
        assert str(memory.canvas("s")) == str(compress(tool_calls(messages)))
        for at in range(0, len(messages), 3):
            assert memory.capture(messages[at : at + 3], session="s").new == 0

    def test_marks_that_hosts_move_are_no_new_message(self, memory):
        messages = long_log(anthropic_pair, 3)
        first = memory.capture(messages, session="s")
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        again = memory.capture(messages, session="s")
        assert (again.new, again.ids) == (0, first.ids)

    def test_a_message_with_an_id_is_known_wherever_it_stands(self, memory):
        a, b = ({"role": "user", "content": "same", "id": name} for name in "ab")
        memory.capture([a, {"role": "user", "content": "between"}, b], session="s")
        assert memory.capture([b], session="s").new == 0
        assert memory.capture([{**b, "id": "c"}], session="s").new == 1

    def test_sessions_and_scopes_are_apart(self, memory):
        messages = long_log(openai_pair, 2)
        memory.capture(messages, session="s")
        assert memory.capture(messages, session="t").duplicates == 0
        other = memory.scoped("acme")
        assert other.capture(messages, session="s").duplicates == 0
        with pytest.raises(NotFoundError):
            memory.scoped("other").canvas("s")
        with pytest.raises(NotFoundError):
            memory.scoped("other").expand("L0:1")

    def test_a_log_of_many_pieces(self, memory):
        messages = [{"role": "user", "content": f"message {n % 700}"} for n in range(5_000)]
        data = "\n".join(map(json.dumps, messages)).encode()
        captured = memory.capture(io.BytesIO(data), session="s")
        assert captured.new == 5_000
        assert memory.capture(io.BytesIO(data), session="s").new == 0
        more = data + b'\n{"role": "user", "content": "message 1"}'
        assert memory.capture(io.BytesIO(more), session="s").new == 1
        assert memory.capture(messages[2_500:], session="s").new == 0


class TestPairing:
    def test_a_result_finds_its_call_in_a_later_capture(self, memory):
        call, result = openai_pair(1, "done")
        memory.capture([call], session="s")
        assert memory.canvas("s").steps[0].outcome == "pending"
        assert memory.expand("c1") == ""
        memory.capture([result], session="s")
        assert memory.canvas("s").steps[0].outcome == "ok"
        assert memory.expand("c1") == "done"

    def test_a_call_that_the_log_went_on_without_has_failed(self, memory):
        call, _ = openai_pair(1, "never")
        later = openai_pair(2, "later")
        memory.capture([call], session="s")
        memory.canvas("s")
        memory.capture(later, session="s")
        assert [step.outcome for step in memory.canvas("s").steps] == ["error", "ok"]
        late = {"role": "tool", "tool_call_id": "call_1", "content": "late"}
        memory.capture([late], session="s")
        assert [step.outcome for step in memory.canvas("s").steps] == ["ok", "ok"]
        assert str(memory.canvas("s")) == str(compress(tool_calls([call, *later, late])))

    def test_results_without_calls_and_second_results_are_kept(self, memory):
        orphan = {"role": "tool", "tool_call_id": "gone", "content": "orphan"}
        call, result = openai_pair(1, "first")
        second = {**result, "content": "second"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = str(compress(tool_calls([orphan, call, result, second])))
        ids = memory.capture([orphan, call, result, second], session="s").ids
        assert str(memory.canvas("s")) == expected
        assert memory.expand("c1") == "orphan"
        assert memory.expand(ids[-1]) == "second"

    def test_sub_agents_have_refs_of_their_own(self, memory):
        lines = []
        for uuid, parent, content in (
            ("1", None, [{"type": "tool_use", "id": "t", "name": "Task", "input": {}}]),
            ("2", "t", [{"type": "tool_use", "id": "x", "name": "Read", "input": {}}]),
            ("3", "t", [{"type": "tool_result", "tool_use_id": "x", "content": "inner"}]),
            ("4", None, [{"type": "tool_result", "tool_use_id": "t", "content": "outer"}]),
        ):
            kind = "assistant" if content[0]["type"] == "tool_use" else "user"
            lines.append(
                {"type": kind, "uuid": uuid, "sessionId": "s", "isSidechain": parent is not None,
                 "parent_tool_use_id": parent, "message": {"role": kind, "id": f"m{uuid}",
                                                           "content": content}}
            )  # fmt: skip
        for line in lines:
            memory.capture([line], session="s", format="claude-code")
        expected = compress(tool_calls(lines, format="claude-code"))
        assert str(memory.canvas("s")) == str(expected)
        results = [memory.expand(step.ref, session="s") for step in expected.steps]
        assert sorted(results) == ["inner", "outer"]


class TestRealLogs:
    @pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
    def test_every_call_comes_back_and_the_canvas_is_the_logs(self, tmp_path, path):
        with (
            warnings.catch_warnings(),
            Memory(tmp_path / "memory", embedder=SPACE, redact=False) as memory,
        ):
            warnings.simplefilter("ignore")
            calls = tool_calls(path)
            captured = memory.capture(path, session="s")
            assert memory.capture(path, session="s").ids == captured.ids
            canvas = memory.canvas("s")
            assert str(canvas) == str(compress(calls))
            assert len(canvas.steps) == len(calls) > 0
            for step, index in zip(canvas.steps, canvas.order, strict=True):
                sent = (calls[index].result or "").encode("utf-8", "surrogatepass")
                got = memory.expand(step.ref, session="s").encode("utf-8", "surrogatepass")
                assert hashlib.sha256(got).digest() == hashlib.sha256(sent).digest(), step.ref
            assert memory.verify().ok

    def test_every_line_of_a_session_is_kept(self, memory, data_path):
        path = data_path / "toollogs" / "claude-code" / "session-a.jsonl.gz"
        with Memory(memory.path.parent / "all", embedder=SPACE, redact=False) as other:
            ids = other.capture(path, session="s").ids
            kept = {other.expand(one, part="record") for one in ids}
        lines = {
            line.decode()
            for line in gzip.decompress(path.read_bytes()).split(b"\n")
            if line.strip()
        }
        assert kept == lines


class TestRedaction:
    KEY = "AKIAIOSFODNN7EXAMPLQ"
    PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\n-----END RSA PRIVATE KEY-----"

    def secret_log(self):
        call, result = openai_pair(1, f"aws_access_key_id = {self.KEY}\n{self.PEM}\nok")
        call["tool_calls"][0]["function"]["arguments"] = json.dumps(
            {"command": "deploy", "env": {"note": f"key {self.KEY}"}, "n": [1, None]}
        )
        return [call, result, {"role": "user", "content": "plain"}]

    def test_secrets_never_reach_the_folder(self, memory):
        captured = memory.capture(self.secret_log(), session="s")
        assert sum(captured.redacted.values()) >= 2
        arguments = json.loads(memory.expand("c1", part="arguments"))
        assert arguments["command"] == "deploy"
        assert arguments["n"] == [1, None]
        record = json.loads(memory.expand("c1", part="record"))
        assert record["tool_call_id"] == "call_1"
        everything = "".join(
            memory.expand(one, part=part) for one in captured.ids for part in ("result", "record")
        )
        assert self.KEY not in everything
        assert "MIIEowIBAAKCAQEA" not in everything
        assert "[redacted" in everything
        assert memory.stats().redacted == dict(captured.redacted)
        assert memory.capture(self.secret_log(), session="s").new == 0
        assert memory.stats().redacted == dict(captured.redacted)
        memory.close()
        held = b"".join(one.read_bytes() for one in memory.path.rglob("*") if one.is_file())
        assert self.KEY.encode() not in held

    def test_without_redaction_all_is_kept(self, tmp_path):
        with Memory(tmp_path / "memory", embedder=SPACE, redact=False) as memory:
            captured = memory.capture(self.secret_log(), session="s")
            assert captured.redacted == {}
            assert memory.expand("c1") == self.secret_log()[1]["content"]


class TestForget:
    def test_a_forgotten_result_is_gone_and_stays_gone(self, memory):
        marker = "unlikely-marker-8731 " * 200
        messages = [m for n in range(3) for m in openai_pair(n, marker if n == 1 else f"r{n}")]
        ids = memory.capture(messages, session="s").ids
        memory.canvas("s")
        memory.forget(ids[3])
        with pytest.raises(NotFoundError, match="forgotten"):
            memory.expand("c2")
        assert "c2" in {step.ref for step in memory.canvas("s").steps}
        assert [memory.expand(f"c{n}") for n in (1, 3)] == ["r0", "r2"]
        assert "marker" not in memory.canvas("s").raw
        assert memory.capture(messages, session="s").new == 0
        memory.purge()
        memory.close()
        for one in memory.path.rglob("*"):
            assert not one.is_file() or b"unlikely-marker" not in one.read_bytes()

    def test_refs_stay_true_when_a_call_is_forgotten(self, memory):
        ids = memory.capture(
            [m for n in range(3) for m in openai_pair(n, f"r{n}")], session="s"
        ).ids
        memory.forget(list(ids[2:4]))
        assert memory.expand("c3") == "r2"
        assert [step.tool for step in memory.canvas("s").steps] == ["Bash", "?", "Bash"]
        assert memory.verify().ok


class TestWrongInput:
    @pytest.mark.parametrize("session", ["", "  ", None, 3, "\ud800", "x" * 2_000])
    def test_a_session_needs_a_name(self, memory, session):
        with pytest.raises(InvalidInputError, match="session"):
            memory.capture([], session=session)

    def test_an_unknown_format_and_an_unreadable_log(self, memory):
        with pytest.raises(InvalidInputError, match="format"):
            memory.capture([], session="s", format="nonsense")
        with pytest.raises(ToolLogError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            memory.capture(b"\x00\x01 no log\nat all", session="s")
        assert memory.stats().turns == 0

    def test_nothing_is_captured_from_nothing(self, memory):
        assert memory.capture([], session="s").ids == ()

    def test_a_torn_last_line_loses_nothing_before_it(self, memory):
        lines = [json.dumps(message) for message in openai_pair(1, "kept")]
        with pytest.warns(UserWarning, match="not JSON"):
            memory.capture("\n".join([*lines, '{"role": "us']), session="s")
        assert memory.expand("c1") == "kept"


def test_export_and_import_carry_captured_turns(memory, tmp_path):
    memory.capture(openai_pair(1, "\ud83d" + "long " * 1_000), session="s")
    memory.export(tmp_path / "out.jsonl")
    with Memory(tmp_path / "other", embedder=SPACE) as other:
        other.import_(tmp_path / "out.jsonl")
        assert other.get("L0:2").text == "\ud83d" + "long " * 1_000


def test_awaited(tmp_path):
    async def work():
        async with AsyncMemory(tmp_path / "memory", embedder=SPACE) as memory:
            await memory.capture(long_log(openai_pair, 8), session="s")
            canvas = await memory.canvas("s")
            result = await memory.expand("c1")
            compacted = await memory.compact(
                long_log(openai_pair, 8), budget_tokens=2_000, session="s"
            )
            return canvas, result, compacted

    canvas, result, compacted = asyncio.run(work())
    assert len(canvas.steps) == 8
    assert result.startswith("src/")
    assert compacted.replaced


def test_a_store_of_the_first_schema_takes_captures(tmp_path, monkeypatch):
    newest = migrations.MIGRATIONS
    folder = tmp_path / "memory"
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", newest[:1])
        with Database(folder) as old:
            assert old.sql("PRAGMA user_version") == [(1,)]
    with Memory(folder, embedder=SPACE) as memory:
        memory.capture(openai_pair(1, "r"), session="s")
        assert memory.expand("c1") == "r"
        assert memory.verify().ok


def test_threads_that_capture_one_log_write_it_once(memory):
    messages = long_log(openai_pair, 30)
    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(
                lambda end: memory.capture(messages[:end], session="s"),
                [len(messages)] * 4 + [20, 40, len(messages)],
            )
        )
    assert sum(one.new for one in done) == len(messages)
    assert str(memory.canvas("s")) == str(compress(tool_calls(messages)))
