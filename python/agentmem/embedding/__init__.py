"""Embeddings from files: the packaged all-MiniLM-L6-v2, or a model folder of the host's own.

Importing this loads no model, and neither numpy nor onnxruntime nor tokenizers.
"""

from agentmem.embedding.onnx_embedder import OnnxEmbedder
from agentmem.embedding.prepared import prepare_model
from agentmem.embedding.resolve import resolve_embedder

__all__ = ["OnnxEmbedder", "prepare_model", "resolve_embedder"]
