"""Buffers and archives: what counts, when it is archived, what an archive holds."""

import threading

import pytest
from tests.skill_help import call, open_memory, pairs, result, user

from agentmem import ArchiveError, InvalidInputError, ToolLogError
from agentmem.skills.archive_store import FolderArchiveStore
from agentmem.skills.options import MAX_PAYLOAD_BYTES
from agentmem.store.guard import StoreWarning

KB40, KB80 = 40_960, 81_920


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "memory") as memory:
        yield memory


@pytest.fixture
def skills(memory):
    return memory.skills


def add(skills, messages, session="s", owner="ann", **more):
    return skills.add(messages, session=session, owner=owner, **more)


def test_nine_calls_stay_and_the_tenth_archives(skills):
    buffered = add(skills, pairs(9))
    assert (buffered.tool_calls, buffered.archived) == (9, None)
    buffered = add(skills, pairs(1, start=9))
    assert buffered.archived.reason == "tool_calls"
    assert buffered.archived.tool_calls == 10
    assert (buffered.tool_calls, buffered.bytes, buffered.messages) == (0, 0, 0)


@pytest.mark.parametrize(("size", "reason"), [(KB40 - 1, None), (KB40, "bytes")])
def test_forty_kilobytes_of_words(skills, size, reason):
    buffered = add(skills, [user("x" * size)])
    assert (buffered.archived and buffered.archived.reason) == reason
    assert buffered.archived is not None or buffered.bytes == size


@pytest.mark.parametrize(("size", "reason"), [(KB80, "bytes"), (KB80 + 1, "oversize")])
def test_eighty_kilobytes(skills, size, reason):
    archived = add(skills, [user("é" * (size // 2) + "x" * (size % 2))]).archived
    assert (archived.reason, archived.bytes) == (reason, size)
    assert archived.payload_bytes <= MAX_PAYLOAD_BYTES
    assert archived.omitted.shortened == 1


def test_bytes_come_together_over_many_adds(skills):
    for place in range(4):
        assert add(skills, [user(f"{place}" + "x" * 9_999)]).archived is None
    assert add(skills, [user("y" * 959)]).archived is None
    assert add(skills, [user("z")]).archived.reason == "bytes"


def test_one_large_add_with_long_tool_texts_is_compressed(skills, memory):
    archived = add(skills, [call(1), result(1, "a" * 30_000 + "b" * 20_000)]).archived
    assert (archived.reason, archived.omitted.shortened) == ("compressed", 1)
    text = skills.archive_view(archived.id).calls[0].result
    assert text.startswith("a" * 1_024 + "\n[... 47,952 bytes left out ...]\n")
    assert text.endswith("b" * 1_024)
    assert memory.expand("c1", session="s") == "a" * 30_000 + "b" * 20_000


def test_reasons_in_order(skills):
    long = [call(1), result(1, "x" * 50_000)]
    assert add(skills, [*pairs(10, start=20), *long], session="a").archived.reason == "compressed"
    long = [call(1), result(1, "x" * (KB80 + 1))]
    assert add(skills, [*pairs(10, start=20), *long], session="b").archived.reason == "oversize"
    words = [*pairs(10), user("x" * KB40)]
    assert add(skills, words, session="c").archived.reason == "tool_calls"


def test_what_counts_as_a_call(skills):
    without_result = add(skills, [call(1)])
    assert without_result.tool_calls == 1
    orphan = add(skills, [result(77)], session="orphan")
    assert (orphan.tool_calls, orphan.messages) == (0, 1)
    three = [{"role": "assistant", "tool_calls": [call(n)["tool_calls"][0] for n in range(3)]}]
    assert add(skills, three, session="batch").tool_calls == 3
    again = add(skills, [call(1)])
    assert (again.tool_calls, again.dropped) == (1, {"replayed": 1})


def test_a_replayed_call_in_another_record_counts_once(skills):
    stamped = [message | {"timestamp": "2026-01-01T00:00:00Z"} for message in pairs(1)]
    later = [message | {"timestamp": "2026-01-01T00:00:09Z"} for message in pairs(1)]
    assert add(skills, stamped).tool_calls == 1
    again = add(skills, later)
    assert (again.tool_calls, again.messages, again.dropped) == (1, 2, {"replayed": 2})
    other = add(skills, [call(0, arguments='{"step":"other"}')])
    assert other.tool_calls == 2


def test_what_is_left_out_is_counted(skills):
    messages = [
        {"role": "system", "content": "You are kind."},
        user("<system-reminder>be brief</system-reminder>hello"),
        user("<memory>old</memory>"),
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url",
         "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
         {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
        user("<memory>never closed"),
        {"role": "user", "content": ""},
    ]  # fmt: skip
    buffered = add(skills, messages)
    assert buffered.dropped == {
        "system": 1, "wrapper": 1, "recalled": 1, "image": 1, "reasoning": 1, "empty": 1,
    }  # fmt: skip
    archived = skills.archive("s", owner="ann")
    texts = [message.text for message in skills.archive_view(archived.id).messages]
    assert texts == ["hello", "look", "{}", "<memory>never closed"]
    assert buffered.bytes == len("hellolook{}ls<memory>never closed")


def test_captured_once_and_fed_once(skills, memory):
    memory.capture(pairs(3), session="s")
    buffered = add(skills, pairs(3))
    assert (buffered.tool_calls, memory.stats().turns) == (3, 6)
    assert add(skills, pairs(3)).dropped == {"replayed": 6}
    assert add(skills, pairs(3), owner="bob").tool_calls == 3
    assert memory.stats().turns == 6


def test_force_and_empty(skills):
    assert skills.archive("none", owner="ann").reason == "empty"
    add(skills, pairs(2))
    archived = skills.archive("s", owner="ann", intent="make a skill", succeeded=True)
    assert (archived.reason, archived.intent, archived.messages) == ("forced", "make a skill", 4)
    view = skills.archive_view(archived.id)
    assert (view.succeeded, view.intent) == (True, "make a skill")
    assert skills.archive("s", owner="ann").reason == "empty"
    assert skills.archive("s", owner="bob").reason == "empty"


def test_the_hosts_word_goes_with_the_next_archive_only(skills):
    add(skills, pairs(1), succeeded=False)
    assert skills.archive_view(skills.archive("s", owner="ann").id).succeeded is False
    add(skills, pairs(1, start=5))
    assert skills.archive_view(skills.archive("s", owner="ann").id).succeeded is None


def test_ten_megabytes_in_one_message(skills):
    archived = add(skills, [user("字" * 3_500_000), *pairs(2)]).archived
    assert (archived.reason, archived.messages) == ("oversize", 5)
    view = skills.archive_view(archived.id)
    assert archived.payload_bytes <= MAX_PAYLOAD_BYTES
    assert [one.name for one in view.calls] == ["run", "run"]
    assert view.messages[0].text.startswith("字" * 100)


def test_padding_leaves_every_call_and_its_ids(skills):
    plain = [user("please deploy"), *pairs(6)]
    padding = [user("x" * 1_000_000)]
    add(skills, plain, session="a")
    one = skills.archive_view(skills.archive("a", owner="ann").id)
    padded = add(skills, [*plain[:7], *padding, *plain[7:]], session="b").archived
    other = skills.archive_view(padded.id)
    seen = [
        [(c.name, c.arguments, c.result, c.outcome, c.call_id) for c in view.calls]
        for view in (one, other)
    ]
    assert seen[0] == seen[1]
    assert padded.omitted.shortened == 1


def test_many_messages_keep_ends_failures_and_pairs(skills):
    log = [user("please deploy")]
    for number in range(3_000):
        failed = number % 500 == 250
        log += [call(number), result(number, "Error: no" if failed else "ok " * 20, failed)]
    archived = add(skills, log).archived
    assert archived.reason == "oversize"
    view = skills.archive_view(archived.id)
    kept = [message for message in view.messages if message.role != "omission"]
    assert archived.payload_bytes <= MAX_PAYLOAD_BYTES
    assert archived.omitted.messages == len(log) - len(kept) > 0
    assert kept[0].text == "please deploy"
    assert view.calls[-1].call_id == "call-2999"
    assert sum(one.outcome == "error" for one in view.calls) == 6
    made = {message.source for message in kept if message.role == "tool_call"}
    answered = {message.answers for message in kept if message.role == "tool_result"}
    assert made == answered
    gaps = [message.text for message in view.messages if message.role == "omission"]
    counts = [int(text.split()[0].strip("[").replace(",", "")) for text in gaps]
    assert sum(counts) == archived.omitted.messages
    sources = [int(message.source.split(":")[1]) for message in kept]
    assert sources == sorted(sources)


@pytest.mark.parametrize(
    "text",
    ["\x00" * 200_000, "\ud800" * 100_000, "👩‍👩‍👧" * 20_000, "Việt" * 50_000, "\n" * 99_999 + "a"],
)
def test_any_text_fits_and_reads_back(skills, text):
    archived = add(skills, [user(text), call(1, name="n" * 5_000), result(1, text)]).archived
    assert archived.payload_bytes <= MAX_PAYLOAD_BYTES
    view = skills.archive_view(archived.id)
    assert len(view.messages) == 3
    head = view.messages[0].text.split("\n[... ")[0]
    # A reviewer has no use for lone surrogates, which no encoder takes; L0 keeps them.
    assert text.replace("\ud800", "\ufffd").startswith(head)
    assert head


def test_a_result_that_comes_after_the_archive(skills):
    add(skills, [user("go"), call(1)])
    archived = skills.archive("s", owner="ann")
    assert skills.archive_view(archived.id).calls[0].outcome == "pending"
    add(skills, [result(1, "late")])
    (late,) = skills.archive_view(archived.id).calls
    assert (late.outcome, late.result, late.result_source) == ("ok", "late", "L0:3")


def test_two_threads_lose_nothing(skills, memory):
    def work(owner):
        for number in range(40):
            skills.add(
                [call(f"{owner}{number}"), result(f"{owner}{number}")], session="s", owner="both"
            )

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    skills.archive("s", owner="both")
    ((calls,),) = memory.sql("SELECT sum(calls) FROM skill_archives")
    assert calls == 80
    assert memory.sql("SELECT count(*) FROM skill_buffered WHERE archive_id IS NULL") == [(0,)]
    assert memory.sql("SELECT count(*) FROM skill_archives") == memory.sql(
        "SELECT count(*) FROM skill_tasks"
    )


def test_a_folder_of_payloads(memory, tmp_path):
    store = FolderArchiveStore(tmp_path / "payloads")
    skills = memory.skills.configure(archives=store)
    add(skills, pairs(3))
    archived = skills.archive("s", owner="ann")
    assert store.keys() == {archived.digest}
    assert len(skills.archive_view(archived.id).calls) == 3
    with pytest.raises(ArchiveError, match="external"):
        memory.skills.archive_view(archived.id)
    store.delete(archived.digest)
    with pytest.warns(StoreWarning, match="blocked"):
        (review,) = skills.review(reviewer=_Never())
    assert review.outcome == "blocked"
    (task,) = skills.queue()
    assert (task.state, "can't be read" in task.error) == ("blocked", True)


class _Never:
    id = "never"

    def review(self, archive, existing, fingerprints):
        raise AssertionError(archive, existing, fingerprints)


def test_a_store_that_fails_loses_nothing(memory):
    class Full(FolderArchiveStore):
        def put(self, key, content):
            raise OSError(28, "No space left on device", key, len(content))

    skills = memory.skills.configure(archives=Full(memory.path.parent / "payloads"))
    with pytest.raises(OSError, match="No space"):
        add(skills, pairs(10))
    assert memory.skills.queue() == []
    assert add(memory.skills, pairs(10)).archived.tool_calls == 10


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"owner": ""}, InvalidInputError), ({"owner": None}, InvalidInputError),
        ({"owner": "\ud800"}, InvalidInputError), ({"session": " "}, InvalidInputError),
        ({"format": "word"}, InvalidInputError), ({"succeeded": "yes"}, InvalidInputError),
        ({"messages": b"{broken"}, ToolLogError),
    ],
)  # fmt: skip
def test_bad_input(skills, memory, change, error):
    given = {"messages": pairs(1), "session": "s", "owner": "ann"} | change
    with pytest.raises(error):
        skills.add(given.pop("messages"), **given)
    assert memory.sql("SELECT count(*) FROM skill_buffers") == [(0,)]


def test_empty_and_settings(skills):
    assert add(skills, []).messages == 0
    with pytest.raises(InvalidInputError, match="no setting"):
        skills.configure(nonsense=1)
    with pytest.raises(InvalidInputError, match="archive_calls"):
        skills.configure(archive_calls=0)
    with pytest.raises(InvalidInputError):
        skills.archive("s", owner="ann", intent="x" * 2_001)
    assert add(skills.configure(archive_calls=2), pairs(2)).archived.reason == "tool_calls"


def test_hostile_tags_take_linear_time(skills):
    text = "<memory>" * 200_000 + "</system-reminder>"
    assert add(skills, [user(text)]).archived.reason == "oversize"


def test_what_is_forgotten_is_in_no_archive(memory, tmp_path):
    skills = memory.skills
    add(skills, [user("my code word is xyzzy"), *pairs(2), user("go on")])
    archived = skills.archive("s", owner="ann")
    add(skills, [user("xyzzy again"), *pairs(1, start=9)])
    ids = [row[0] for row in memory.sql("SELECT id FROM turns WHERE text LIKE '%xyzzy%'")]
    memory.forget([f"L0:{number}" for number in ids])
    texts = [message.text for message in skills.archive_view(archived.id).messages]
    assert texts[0] == '{"step":0}'
    assert texts[-1] == "[1 messages were forgotten]"
    buffered = add(skills, [])
    assert (buffered.messages, buffered.tool_calls) == (2, 1)
    memory.purge()
    assert memory.verify().ok
    assert not any(
        b"xyzzy" in path.read_bytes() for path in memory.path.rglob("*") if path.is_file()
    )
    store = FolderArchiveStore(tmp_path / "payloads")
    outside = skills.configure(archives=store)
    add(outside, [user("plugh")], session="t")
    view = outside.archive("t", owner="ann")
    memory.forget([f"L0:{memory.sql('SELECT max(id) FROM turns')[0][0]}"])
    assert outside.sweep() == 1
    assert store.keys() == set()
    assert [one.role for one in outside.archive_view(view.id).messages] == ["omission"]
    with pytest.raises(InvalidInputError, match="keys"):
        skills.sweep()
