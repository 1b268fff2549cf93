"""A model behind an endpoint is asked over HTTP, and believed only where it quotes."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.extractors import say

from agentmem import InvalidInputError, Memory
from agentmem.integrations.openai_compatible import OpenAICompatibleExtractor
from agentmem.protocols import GivenEmbeddings

SPACE = GivenEmbeddings("two", 2)


@pytest.fixture
def endpoint():
    """Yield a server on this machine whose ``answer(asked)`` is what its model says."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.seen.append((self.path, self.headers.get("Authorization"), body))
            status, answer = server.answer(json.loads(body["messages"][1]["content"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    server.url = f"http://127.0.0.1:{server.server_port}/v1/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def said(content):
    return 200, json.dumps({"choices": [{"message": {"content": content}}]}).encode()


def facts(asked, **more):
    found = []
    for message in asked["messages"]:
        if "vim" in message["text"]:
            found.append(
                {"text": "The user's editor is vim.", "kind": "persona", "source": message["id"],
                 "quote": "use vim", "subject": "user", "attribute": "editor", "value": "vim",
                 "event_time": None, "confidence": 0.9, "priority": 70} | more
            )  # fmt: skip
    return said(json.dumps({"facts": found}))


def test_a_model_is_asked_and_its_facts_quote_their_source(endpoint, tmp_path):
    endpoint.answer = facts
    extractor = OpenAICompatibleExtractor(endpoint.url, "tiny", api_key="k", batch=2)
    with Memory(tmp_path / "m", embedder=SPACE, extractor=extractor) as memory:
        memory.capture(say("hello", "I use vim", "bye"), session="s")
        assert memory.consolidate().facts == 1
        (fact,) = memory.facts()
        assert (fact.text, fact.value) == ("The user's editor is vim.", "vim")
        assert fact.extractor == "openai-compatible-1:tiny"
        (step, *_) = memory.trace(fact.id).path
        assert step.spans == {fact.sources[0]: (2, 9)}
    assert [path for path, *_ in endpoint.seen] == ["/v1/chat/completions"] * 2
    assert endpoint.seen[0][1] == "Bearer k"
    assert endpoint.seen[0][2]["model"] == "tiny"


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: (500, b"no"),
        lambda _: (200, b"not json"),
        lambda _: (200, b"{}"),
        lambda _: said("no json"),
        lambda _: said("[]"),
        lambda _: said('{"facts": 3}'),
        lambda _: said('{"facts": [3]}'),
        lambda asked: facts(asked, quote="use emacs"),
        lambda asked: facts(asked, quote=None),
        lambda asked: facts(asked, source="L0:999"),
        lambda asked: facts(asked, source=3),
        lambda asked: facts(asked, kind="wish"),
        lambda asked: facts(asked, text=None),
        lambda asked: facts(asked, confidence="high"),
        lambda asked: facts(asked, event_time="soon"),
        lambda asked: facts(asked, event_time="2026-01-01T00:00:00"),
    ],
)
def test_a_bad_answer_leaves_the_messages_pending(endpoint, tmp_path, answer):
    endpoint.answer = answer
    extractor = OpenAICompatibleExtractor(endpoint.url, "tiny")
    with Memory(tmp_path / "m", embedder=SPACE, extractor=extractor) as memory:
        memory.capture(say("I use vim"), session="s")
        (failed,) = memory.consolidate().failed
        assert failed.error.startswith("ExtractorError")
        assert memory.facts() == []
        endpoint.answer = facts
        assert memory.consolidate().facts == 1


def test_no_server_and_a_slow_one_are_failures(endpoint, tmp_path):
    gate = threading.Event()

    def slow(asked):
        gate.wait(10)
        return facts(asked)

    endpoint.answer = slow
    extractor = OpenAICompatibleExtractor(endpoint.url, "tiny", timeout_s=0.2)
    with Memory(tmp_path / "m", embedder=SPACE, extractor=extractor) as memory:
        memory.capture(say("I use vim"), session="s")
        assert "TimeoutError" in memory.consolidate().failed[0].error
        gate.set()
    extractor = OpenAICompatibleExtractor("http://127.0.0.1:9/v1", "tiny")
    with Memory(tmp_path / "m", embedder=SPACE, extractor=extractor) as memory:
        assert "could not be asked" in memory.consolidate().failed[0].error


def test_wrong_arguments_say_so():
    for arguments in (("ftp://x", "m"), (7, "m"), ("http://x", "")):
        with pytest.raises(InvalidInputError):
            OpenAICompatibleExtractor(*arguments)
    for options in ({"timeout_s": 0}, {"batch": 0}, {"batch": True}):
        with pytest.raises(InvalidInputError):
            OpenAICompatibleExtractor("http://x", "m", **options)


def test_another_process_makes_the_same(endpoint):
    extractor = OpenAICompatibleExtractor(endpoint.url, "tiny", api_key="k", batch=3)
    name, arguments = json.loads(json.dumps(extractor.worker_spec()))
    assert name == "agentmem.integrations.openai_compatible:OpenAICompatibleExtractor"
    assert OpenAICompatibleExtractor(**arguments).worker_spec() == extractor.worker_spec()
