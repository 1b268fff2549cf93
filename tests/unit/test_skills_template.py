"""Texts of several runs become one template, and a text binds to its slots."""

import time

import pytest

from agentmem.skills.parameters import Pool, name_for, spell
from agentmem.skills.template import Slot, align, bind, from_json, generalised, render, to_json

VALUES = [
    (["tag v1.2.0", "tag v2.0.1"], ["tag ", None], [("v1.2.0", "v2.0.1")]),
    (["same", "same"], ["same"], []),
    (["item.clone()", "buf.len() == 0"], [None], [("item.clone()", "buf.len() == 0")]),
    (
        ["deploy/a-b -n x", "deploy/c -n y"],
        ["deploy/", None, " -n ", None],
        [("a-b", "c"), ("x", "y")],
    ),
    (
        ['"label": "Your cart is empty"', '"label": "Try again"'],
        ['"label": "', None, '"'],
        [("Your cart is empty", "Try again")],
    ),
    (["quay.io/prom/exporter:1", "ghcr.io/dex/dex:2"], [None], None),
    (["chạy thử máy-1", "chạy thử máy-2"], ["chạy thử ", None], [("máy-1", "máy-2")]),
    (["", "x"], [None], [("", "x")]),
]


@pytest.mark.parametrize(("texts", "parts", "slots"), VALUES)
def test_align(texts, parts, slots):
    got, values = align(texts)
    if slots is None:
        assert None in got
    else:
        assert (got, values) == (parts, slots)


def test_words_are_never_cut_in_half():
    parts, slots = align(["v1.20.3 from web-01", "v1.21.3 from web-02"])
    assert parts == [None, " from ", None]
    assert slots == [("v1.20.3", "v1.21.3"), ("web-01", "web-02")]


def test_bind_gives_one_value_for_one_name():
    template = (Slot("a"), "-", Slot("a"))
    assert bind(template, "x-x") == {"a": "x"}
    assert bind(template, "x-y-x-y") == {"a": "x-y"}
    assert bind(template, "x-y") is None
    assert bind(("a", Slot("b")), "ab") == {"b": "b"}
    assert bind(("a",), "b") is None
    assert bind((), "") == {}


def test_bind_is_cheap_on_any_text():
    template = (*tuple(p for n in range(30) for p in (Slot(f"s{n}"), " ")), "end")
    before = time.process_time()
    assert bind(template, "a " * 3_000 + "x") is None
    assert time.process_time() - before < 1


def test_a_template_survives_json_and_bad_data_is_left_out():
    template = ("get ", Slot("x"), "!")
    assert from_json(to_json(template)) == template
    assert from_json([1, None, {"slot": 3}, "a"]) == ("a",)
    assert from_json("text") == ()
    assert render(template) == "get {x}!"


def test_generalised_keeps_what_still_holds():
    template = ("apply -f ", Slot("file"), " --wait --timeout=60s")
    wider = generalised(template, "apply -f a.yaml --wait --timeout=90s", lambda *_: "new")
    assert render(wider) == "apply -f {file} --wait --timeout={new}"
    assert generalised(template, "delete pod web", lambda *_: "new") is None


def test_values_are_written_with_shorter_ones():
    pool = Pool()
    slots = [
        (("idx_orders_id", "idx_users_mail"), "", "sql"),
        (("orders", "users"), "from ", "sql"),
        (("id", "mail"), "where ", "sql"),
    ]
    pool.learn(slots)
    assert render(pool.template([None], [slots[0][0]])) == "idx_{table}_{column}"


def test_a_value_that_only_begins_like_another_is_its_own():
    pool = Pool()
    pool.learn([(("crm", "hr"), "-d ", "c"), (("crm-0302.dump", "hr-0520.dump"), "cp ", "c")])
    assert render(pool.template([None], [("crm-0302.dump", "hr-0520.dump")])) == "{cp}.dump"


def test_spell_works_on_word_edges_only():
    assert render(spell("prefix in pre and pre-x", {"p": "pre"})) == "prefix in {p} and {p}-x"


@pytest.mark.parametrize(
    ("before", "key", "values", "name"),
    [
        ("", "payment_id", ["pm_1", "pm_2"], "payment_id"),
        ("-n ", "command", ["a", "b"], "option_n"),
        ("FROM ", "query", ["a", "b"], "table"),
        ("https://", "url", ["a.b.test", "c.d.test"], "host"),
        ("day = '", "query", ["2026-01-02", "2026-02-03"], "date"),
        ("…", "", ["a", "b"], "value"),
    ],
)
def test_names_of_parameters(before, key, values, name):
    assert name_for(before, key, values, ()) == name


def test_names_are_never_taken_twice():
    assert name_for("", "id", ["a"], ("id", "id_2")) == "id_3"
