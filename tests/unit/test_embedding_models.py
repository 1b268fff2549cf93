"""Model folders of the host's own: tiny graphs, because here the model does not matter."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from agentmem.embedding import OnnxEmbedder
from agentmem.errors import EmbeddingError, ModelNotFoundError

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "hello",
    "red",
    "green",
    "blue",
    "query",
    "passage",
    ":",
]
NDIM = 5
TABLE = np.random.default_rng(7).standard_normal((len(WORDS), NDIM)).astype(np.float32)


def write_tokenizer(folder, *, padded=True):
    tokenizer = Tokenizer(
        models.WordPiece({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    if padded:  # as the files of real models often are
        tokenizer.enable_padding(length=32, pad_id=0, pad_token="[PAD]")
        tokenizer.enable_truncation(8)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(folder, *, inputs=("input_ids",), outputs=("last_hidden_state",), body=None):
    """Write a graph whose ``last_hidden_state`` is a look-up in TABLE."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    if "attention_mask" in inputs:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
            helper.make_node("Mul", ["last_hidden_state", "column"], ["masked"]),
        ]
    nodes += body or []
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [
            numpy_helper.from_array(TABLE, "table"),
            numpy_helper.from_array(np.array([2]), "last"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")


@pytest.fixture
def folder(tmp_path):
    write_tokenizer(tmp_path)
    write_model(tmp_path)
    return tmp_path


def unit(vector):
    return vector / np.linalg.norm(vector)


def rows_of(*words):
    return TABLE[[WORDS.index(word) for word in words]]


def test_mean_and_cls_pooling(folder):
    mean = OnnxEmbedder(folder)
    assert mean.ndim == NDIM
    expected = unit(rows_of("[CLS]", "red", "green", "[SEP]").mean(axis=0))
    np.testing.assert_allclose(mean.embed(["red green"])[0], expected, atol=1e-6)
    np.testing.assert_allclose(mean.embed_query("red green"), expected, atol=1e-6)
    first = OnnxEmbedder(str(folder), pooling="cls")
    np.testing.assert_allclose(first.embed(["red green"])[0], unit(rows_of("[CLS]")[0]), atol=1e-6)
    assert first.id != mean.id


def test_the_files_padding_and_truncation_are_switched_off(folder):
    (rows,) = OnnxEmbedder(folder).embed_chunks(["red green blue " * 4])
    expected = rows_of("[CLS]", *(["red", "green", "blue"] * 4), "[SEP]").mean(axis=0)
    np.testing.assert_allclose(rows, [unit(expected)], atol=1e-6)


def test_prefixes_differ_for_queries_and_texts(folder):
    embedder = OnnxEmbedder(folder, query_prefix="query: ", text_prefix="passage: ")
    asked = rows_of("[CLS]", "query", ":", "red", "[SEP]").mean(axis=0)
    kept = rows_of("[CLS]", "passage", ":", "red", "[SEP]").mean(axis=0)
    np.testing.assert_allclose(embedder.embed_query("red"), unit(asked), atol=1e-6)
    np.testing.assert_allclose(embedder.embed(["red"])[0], unit(kept), atol=1e-6)
    assert embedder.embed_query(" ") is None
    assert embedder.id != OnnxEmbedder(folder).id


def test_a_small_max_tokens_bounds_each_run(folder):
    embedder = OnnxEmbedder(folder, max_tokens=16)
    (rows,) = embedder.embed_chunks(["red green blue " * 20])
    assert len(rows) == 5  # 60 tokens in windows of at most 14 that share 1
    head = unit(rows_of("[CLS]", *(["red", "green", "blue"] * 20)[:14], "[SEP]").mean(axis=0))
    np.testing.assert_allclose(embedder.embed_query("red green blue " * 20), head, atol=1e-6)


def test_the_inputs_that_exist_are_given(folder):
    write_model(
        folder,
        inputs=("input_ids", "attention_mask", "token_type_ids"),
        outputs=("masked",),
    )
    expected = unit(rows_of("[CLS]", "red", "[SEP]").mean(axis=0))
    np.testing.assert_allclose(OnnxEmbedder(folder).embed(["red"])[0], expected, atol=1e-6)


def test_a_graph_that_pools_itself(folder):
    body = [helper.make_node("ReduceMax", ["last_hidden_state"], ["out"], axes=[1], keepdims=0)]
    write_model(folder, outputs=("out",), body=body)
    expected = unit(rows_of("[CLS]", "red", "[SEP]").max(axis=0))
    np.testing.assert_allclose(OnnxEmbedder(folder).embed(["red"])[0], expected, atol=1e-6)


def test_the_id_follows_the_files(folder, tmp_path_factory):
    before = OnnxEmbedder(folder).id
    copy = tmp_path_factory.mktemp("copy")
    write_tokenizer(copy)
    write_model(copy)
    assert OnnxEmbedder(copy).id == before
    write_tokenizer(copy, padded=False)
    assert OnnxEmbedder(copy).id != before
    write_tokenizer(copy)
    (copy / "model.onnx_data").write_bytes(b"weights beside the model")
    assert OnnxEmbedder(copy).id != before


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    embedder = OnnxEmbedder(folder)
    (folder / name).unlink()
    with pytest.raises(ModelNotFoundError, match=name):
        OnnxEmbedder(folder)
    with pytest.raises(ModelNotFoundError, match=name):
        embedder.embed(["red"])


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ModelNotFoundError, match="nowhere"):
        OnnxEmbedder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_something_else(folder, name):
    (folder / name).write_bytes(b"not a model")
    with pytest.raises(EmbeddingError, match=name):
        OnnxEmbedder(folder).embed(["red"])


def test_an_unknown_input_is_refused(folder):
    body = [
        helper.make_node("Gather", ["table", "pixels"], ["more"]),
        helper.make_node("Add", ["last_hidden_state", "more"], ["sum"]),
    ]
    write_model(folder, inputs=("input_ids", "pixels"), outputs=("sum",), body=body)
    with pytest.raises(EmbeddingError, match="pixels"):
        OnnxEmbedder(folder).embed(["red"])


def op(name, output="out", **attributes):
    return helper.make_node(name, ["last_hidden_state"], [output], **attributes)


@pytest.mark.parametrize(
    "node",
    [
        op("ReduceSum", keepdims=0),
        op("Transpose", perm=[1, 0, 2]),
        op("Transpose", perm=[0, 2, 1]),
        op("IsNaN"),
        op("ArgMax", axis=1, keepdims=0),
    ],
    ids=["scalar", "tokens first", "tokens last", "booleans", "integers"],
)
def test_an_output_that_is_no_embedding_is_refused(folder, node):
    kinds = {"IsNaN": TensorProto.BOOL, "ArgMax": TensorProto.INT64}
    write_model(folder, outputs=("out",), body=[node])
    model = onnx.load(folder / "model.onnx")
    model.graph.output[0].type.tensor_type.elem_type = kinds.get(node.op_type, TensorProto.FLOAT)
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(EmbeddingError, match="output 'out'"):
        OnnxEmbedder(folder).embed(["red green"])


@pytest.mark.parametrize("factor", [0.0, np.nan, np.inf])
def test_a_vector_without_a_direction_is_refused(folder, factor):
    write_model(
        folder,
        outputs=("out",),
        body=[
            helper.make_node("Constant", [], ["factor"], value_float=float(factor)),
            helper.make_node("Mul", ["last_hidden_state", "factor"], ["out"]),
        ],
    )
    with pytest.raises(EmbeddingError, match="of length"):
        OnnxEmbedder(folder).embed(["red"])


def test_a_run_that_fails_names_the_length(folder):
    body = [
        helper.make_node("Constant", [], ["few"], value_ints=[1, 3, NDIM]),
        helper.make_node("Reshape", ["last_hidden_state", "few"], ["out"]),
    ]
    write_model(folder, outputs=("out",), body=body)
    embedder = OnnxEmbedder(folder)
    assert embedder.embed(["red"]).shape == (1, NDIM)
    with pytest.raises(EmbeddingError, match=r"(?s)5 tokens.*max_tokens"):
        embedder.embed(["red green blue"])
