"""Embeddings from files: a packaged model, or a model folder of the host's own.

Importing this loads no model, and neither numpy nor onnxruntime nor tokenizers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem.embedding.e5_prepared import prepare_multilingual
    from agentmem.embedding.onnx_embedder import MultilingualEmbedder, OnnxEmbedder
    from agentmem.embedding.prepared import prepare_model
    from agentmem.embedding.resolve import resolve_embedder, space_of

__all__ = [
    "MultilingualEmbedder",
    "OnnxEmbedder",
    "prepare_model",
    "prepare_multilingual",
    "resolve_embedder",
    "space_of",
]

_HOMES = {
    "MultilingualEmbedder": "onnx_embedder",
    "OnnxEmbedder": "onnx_embedder",
    "prepare_model": "prepared",
    "prepare_multilingual": "e5_prepared",
    "resolve_embedder": "resolve",
    "space_of": "resolve",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentmem.embedding.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
