"""Embedding needs no network: with every way out shut, all of it still works.

``no_network`` shuts the doors: an audit hook sees each socket that Python code makes, connects or
resolves a name with, whatever library it comes from. Native code is watched from outside, by the
sockets that the process holds and by strace where that is installed.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from agentmem.embedding import OnnxEmbedder, prepare_model

PYTHON = str(Path(__file__).parents[2] / "python")
_DOORS = {
    "socket.__new__",
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
    "urllib.Request",
}
_shut = False
_hooked = False


class NetworkUsedError(BaseException):
    """Something tried to use the network. Not an Exception, so no fallback can swallow it."""


def _watch(event, arguments):
    if _shut and event in _DOORS:
        raise NetworkUsedError(f"{event}{arguments!r:.100}")


@contextlib.contextmanager
def no_network():
    """Raise NetworkUsedError from whatever Python code touches a socket inside the block."""
    global _shut, _hooked  # noqa: PLW0603
    if not _hooked:
        sys.addaudithook(_watch)  # a hook can't be removed; it sleeps outside the block
        _hooked = True
    _shut = True
    try:
        yield
    finally:
        _shut = False


def embed_everything(embedder):
    """Use every way into an embedder."""
    assert embedder.embed(["Deploys go to Fly.io.", "tabs over spaces"]).shape == (2, 384)
    assert len(embedder.embed_chunks(["a long story " * 300])[0]) > 1
    assert embedder.embed_query("where do we deploy?").shape == (384,)


def test_embedding_uses_no_network(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.getbasetemp() / "models"
    monkeypatch.setenv("AGENTMEM_CACHE", str(folder))
    with no_network():
        prepare_model()
        embed_everything(OnnxEmbedder())


def test_derivation_uses_no_network(tmp_path):
    with no_network():
        assert prepare_model(tmp_path / "cache").is_file()


class DownloadingEmbedder(OnnxEmbedder):
    """The mutant: it asks a server for its vectors, and falls back in silence."""

    def embed(self, texts):
        with contextlib.suppress(Exception):
            urllib.request.urlopen("http://127.0.0.1:9/embed", timeout=0.1)
        return np.tile(np.eye(1, 384, dtype=np.float32), (len(texts), 1))


class ConnectingEmbedder(OnnxEmbedder):
    """The mutant, by a plain socket."""

    def embed_query(self, text):
        with contextlib.suppress(OSError), socket.socket() as connection:
            connection.connect(("127.0.0.1", 9))
        return super().embed_query(text)


class ResolvingEmbedder(OnnxEmbedder):
    """The mutant, by a name."""

    def embed_chunks(self, texts):
        with contextlib.suppress(OSError):
            socket.getaddrinfo("localhost", 9)
        return super().embed_chunks(texts)


@pytest.mark.parametrize("mutant", [DownloadingEmbedder, ConnectingEmbedder, ResolvingEmbedder])
def test_an_embedder_that_uses_the_network_is_caught(tmp_path_factory, monkeypatch, mutant):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path_factory.getbasetemp() / "models"))
    embedder = mutant()
    with pytest.raises(NetworkUsedError), no_network():
        embed_everything(embedder)


PROGRAM = """
import os, sys
from agentmem.embedding import OnnxEmbedder
embedder = OnnxEmbedder()
embedder.embed(["Deploys go to Fly.io."])
embedder.embed_query("where do we deploy?")
held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")]
print([name for name in held if name.startswith("socket:")])
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_native_code_holds_no_socket(tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "models"
    prepare_model(cache)
    command = [sys.executable, "-c", PROGRAM]
    trace = tmp_path_factory.mktemp("trace") / "trace"
    strace = shutil.which("strace")
    if strace:
        command = [strace, "-f", "-e", "trace=%network", "-o", str(trace), *command]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": PYTHON, "AGENTMEM_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    if strace:
        lines = trace.read_text().splitlines()
        assert not [line for line in lines if "AF_INET" in line]
