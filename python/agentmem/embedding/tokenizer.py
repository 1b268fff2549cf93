"""Text to token ids: the packaged WordPiece vocabulary, or a model folder's own tokenizer.json.

A tokenizer here never pads and never cuts; how many ids a model is given is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = [
    "VOCABULARY",
    "TextTokenizer",
    "file_tokenizer",
    "packaged_tokenizer",
    "unigram_tokenizer",
]

VOCABULARY: Final = Path(__file__).parent / "data" / "vocab.txt"

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_UNKNOWN = ("[UNK]", "<unk>", "<UNK>")
# Stands for a space; alone it says nothing.
_SPACE = "▁"
_UNIGRAM_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


class TextTokenizer:
    """Gives the ids of a text, and wraps a run of ids in what the model expects around it.

    Args:
        tokenizer: Padding and truncation are switched off on it.
        prepare: What is done to a text before the tokenizer sees it.

    Raises:
        EmbeddingError: The tokenizer does not put its special tokens around the text.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, prepare: Callable[[str], str] | None = None
    ) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._prepare = prepare
        bare = tokenizer.encode("hello", add_special_tokens=False).ids
        full = tokenizer.encode("hello").ids
        places = [at for at in range(len(full)) if full[at : at + len(bare)] == bare]
        if not bare or not places:
            raise EmbeddingError(
                "the tokenizer does not keep the tokens of a text together: "
                f"'hello' gives {bare} alone and {full} with special tokens"
            )
        self._before: list[int] = full[: places[0]]
        self._after: list[int] = full[places[0] + len(bare) :]
        special = {
            key for key, token in tokenizer.get_added_tokens_decoder().items() if token.special
        }
        unknown = {tokenizer.token_to_id(name) for name in (*_UNKNOWN, _SPACE)}
        self._without_content = frozenset(special | {key for key in unknown if key is not None})

    @property
    def added(self) -> int:
        """How many special tokens ``wrap`` adds."""
        return len(self._before) + len(self._after)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text without special tokens around it.

        Args:
            text: Valid Unicode, without lone surrogates.
        """
        if self._prepare is not None:
            text = self._prepare(text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """Return the ids with the special tokens before and after them."""
        return [*self._before, *ids, *self._after]

    def has_content(self, ids: Sequence[int]) -> bool:
        """Say whether one of the ids stands for something that the model knows."""
        return not self._without_content.issuperset(ids)


def packaged_tokenizer() -> TextTokenizer:
    """Return the tokenizer of all-MiniLM-L6-v2: BERT normalisation, lower case, WordPiece."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

    if not VOCABULARY.is_file():
        raise ModelNotFoundError(f"{VOCABULARY} is missing; install agentmem again")
    model = models.WordPiece.from_file(
        str(VOCABULARY), unk_token=_UNKNOWN[0], max_input_chars_per_word=100
    )
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return TextTokenizer(tokenizer)


def unigram_tokenizer(
    pieces: Sequence[tuple[str, float]], characters: Mapping[int, str]
) -> TextTokenizer:
    """Return the tokenizer of the XLM-R family: SentencePiece's Unigram over normalised text.

    Args:
        pieces: Each piece with the logarithm of its probability; the place is the id. The first
            four and the last are ``<s>``, ``<pad>``, ``</s>``, ``<unk>`` and ``<mask>``.
        characters: What a character becomes before the text is split: compatibility forms their
            plain ones, control characters nothing, other kinds of white space a space.
    """
    import re
    import unicodedata

    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

    # The vocabulary is of composed characters, and the table has no sequences: letters that come
    # with their marks apart are composed first.
    table = {0: "", **characters}
    spaces = re.compile(" {2,}")

    def prepare(text: str) -> str:
        composed = unicodedata.normalize("NFC", text)
        return spaces.sub(" ", composed.translate(table)).strip(" ")

    unknown = next(at for at, (piece, _) in enumerate(pieces) if piece == "<unk>")
    tokenizer = Tokenizer(models.Unigram(list(pieces), unknown, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE, prepend_scheme="always")
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in _UNIGRAM_SPECIAL])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return TextTokenizer(tokenizer, prepare=prepare)


def file_tokenizer(path: Path) -> TextTokenizer:
    """Return the tokenizer that a ``tokenizer.json`` describes.

    Raises:
        ModelNotFoundError: There is no such file.
        EmbeddingError: The file is not a tokenizer.
    """
    from tokenizers import Tokenizer

    if not path.is_file():
        raise ModelNotFoundError(f"{path} is missing; a model folder holds it beside model.onnx")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise EmbeddingError(f"{path} is not a tokenizer: {error}") from error
    return TextTokenizer(tokenizer)
