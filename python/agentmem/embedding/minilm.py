"""What is fixed about the packaged model, all-MiniLM-L6-v2; its vector space is named by these."""

from __future__ import annotations

from typing import Final

__all__ = ["HEADS", "NDIM", "POSITIONS", "RECIPE", "SOURCE_SHA256", "TOKENIZER_ID"]

#: sha256 of the packaged model.onnx; the recipe was made for this file alone.
SOURCE_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
#: Changes whenever derivation would give vectors that don't compare with those of before.
RECIPE: Final = 1
#: Changes whenever the packaged tokenizer would give other ids for some text.
TOKENIZER_ID: Final = "wordpiece1"
#: The length of a vector.
NDIM: Final = 384
#: Attention heads of each layer.
HEADS: Final = 12
#: Most tokens of one run, special ones included.
POSITIONS: Final = 512
