"""The contract of the native core. Hosts use it through ``agentmem``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentmem.models import Trust
from agentmem.toollog.canvas import Level, Step

__all__ = [
    "MAX_CALLS",
    "MAX_QUERY_TERMS",
    "SCORE_PARTS",
    "TEXT_VERSION",
    "Asked",
    "Hit",
    "HybridIndex",
    "NativeCanvas",
    "PreparedRows",
    "Ranking",
    "SearchResult",
    "StoreIndex",
    "TermIndex",
    "ToolLog",
    "analyze",
    "analyze_query",
    "build_profile",
    "canonical",
    "digests",
    "estimate_tokens",
    "fold_text",
    "fuse",
    "parse",
    "plain_json",
    "read_hints",
    "redact",
    "redact_many",
    "session_lines",
    "unit_rows",
]

build_profile: Final[str]
TEXT_VERSION: Final[int]
"""Version of the analyzer's terms; an index of another version is rebuilt."""
MAX_QUERY_TERMS: Final[int]
"""Terms of a query beyond these are ignored."""

MAX_CALLS: Final[int]
"""Calls that one tool log may hold."""

_Call: TypeAlias = tuple[
    str,  # name
    str,  # arguments
    bool,  # whether the arguments are JSON
    str | None,  # result
    bool,  # is_error
    int | None,  # batch
    int | None,  # index of the call whose sub-agent made this one
]
_Mode: TypeAlias = Literal["auto", "exact", "hnsw"]
_Parts: TypeAlias = tuple[float | None, list[tuple[int, float]]]
_Explain: TypeAlias = Callable[[_Parts, float | None, float | None], Mapping[str, Any]]
_Row: TypeAlias = tuple[
    int,  # key: unique; tier << 56 | number
    int,  # tier, 0 to 31
    str,  # kind
    str,  # scope, a path of /-separated segments
    str | None,  # session
    int | None,  # position in the session
    str,  # text
    int,  # created_ms
    int | None,  # event_ms
    int | None,  # valid_from_ms
    int | None,  # valid_to_ms
    bool,  # is_current
    int,  # priority
    int,  # trust
    str | None,  # subject
    Sequence[str],  # tags
    str,  # metadata: a JSON object
    Sequence[str],  # sources
    bytes | None,  # vectors: float32, little-endian, n * ndim
]
SCORE_PARTS: Final[list[str]]
"""What a score is made of, in the order of a hit's parts."""

@final
class Ranking:
    """How the signals become one ranking; what is not given is as it was measured to be best.

    Pairs are of BM25 and of the vectors. A list of a signal weighs the number here times the signal's
    weight in the search.
    """

    def __new__(
        cls,
        *,
        method: Literal["rrf", "score"] = "rrf",
        k: tuple[float, float] | None = None,
        lone: tuple[float, float] | None = None,
        own: tuple[float, float] | None = None,
        near: tuple[float, float] | None = None,
        session: float | None = None,
        first: float | None = None,
        hinted: tuple[float, float] | None = None,
        named: tuple[float, float] | None = None,
        support: tuple[float, float, float, float] | None = None,
        recency: float = 0.0,
        half_life_ms: float = 0.0,
        priority: float = 0.0,
        diversity: float = 0.0,
        relevance: tuple[float, tuple[float, float, float, float, float]] | None = None,
        confidence: tuple[float, float, float, float, float] | None = None,
    ) -> Ranking:
        """Make a ranking.

        Args:
            method: Reciprocal ranks or min-max scores.
            k: RRF's constants: where no candidate stands in a session, and where one does.
            lone: Rows without a session: the signals alone.
            own: Rows in a session: the signals alone.
            near: Rows in a session: the signals with the support of neighbours and session.
            session: Rows in a session: the session's rank.
            first: The first row of each signal, where any candidate stands in a session.
            hinted: The signals among the rows of the time that the query names.
            named: The signals among the rows whose subject the query names.
            support: Shares lent by the row before, the row after, what remains of them at two
                places, and the share of the session's best row.
            recency: Weight of ``2 ** (-age / half_life_ms)``, in first places of a signal.
            half_life_ms: Above 0 where recency is.
            priority: Weight of ``priority / 100``.
            diversity: Largest share of the hits for one session; 0 for no limit.
            relevance: Constant and weights of the logistic model of a hit's relevance.
            confidence: The share of the query's words, by weight, that the best row holds from
                which on words weigh all; that from which on they do where no vector stands out; the
                inverse document frequency of a word, in nats, from which on it alone weighs all;
                the standard deviations up to which no vector stands out; the words' least weight.

        Raises:
            InvalidInputError: A number is negative or not finite, or the method is unknown.
        """

    @property
    def k(self) -> tuple[float, float] | None:
        """RRF's constants; None with ``score``."""

    @property
    def lone(self) -> tuple[float, float]:
        """The weights of the signals for rows without a session."""

@final
class PreparedRows:
    """Rows that ``StoreIndex.prepare`` made ready; they can be applied once."""

@final
class Hit:
    """One row that fits a query; equal where all fields are, and cheap: a field is made when read.

    It never changes: ``metadata`` and ``explanation`` are new objects for each reading.
    """

    __match_args__: ClassVar[tuple[str, ...]] = (
        "id", "tier", "kind", "text", "score", "bm25_rank", "ann_rank", "relevance", "subject",
        "tags", "metadata", "sources", "scope", "session", "position", "created", "event_time",
        "valid_from", "valid_to", "is_current", "priority", "trust", "explanation",
    )  # fmt: skip
    @property
    def id(self) -> str:
        """The tier and a number, ``"L1:7"``."""

    @property
    def tier(self) -> Literal["L0", "L1", "L2", "L3"]:
        """The tier of the row."""

    @property
    def kind(self) -> str:
        """The kind of the row, such as ``"fact"``."""

    @property
    def text(self) -> str:
        """What the row says."""

    @property
    def score(self) -> float:
        """The fused value."""

    @property
    def bm25_rank(self) -> int | None:
        """The place in the lexical signal, from 1; None where it is not among its candidates."""

    @property
    def ann_rank(self) -> int | None:
        """The place in the vector signal, from 1; None where it is not among its candidates."""

    @property
    def relevance(self) -> float | None:
        """The calibrated chance, 0 to 1, that the row is evidence for the question.

        None where one signal did not run. A best hit below 0.05 mostly means that nothing fits
        (docs/quality.md).
        """

    @property
    def subject(self) -> str | None:
        """Who or what it is about."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata; the caller may change it, no other reader sees that."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the rows that it rests on."""

    @property
    def scope(self) -> str:
        """The scope, whole."""

    @property
    def session(self) -> str | None:
        """The session."""

    @property
    def position(self) -> int:
        """The place in the session."""

    @property
    def created(self) -> datetime:
        """When it was written."""

    @property
    def event_time(self) -> datetime | None:
        """When what it tells happened."""

    @property
    def valid_from(self) -> datetime | None:
        """When it began to be true."""

    @property
    def valid_to(self) -> datetime | None:
        """When it ceased to be true."""

    @property
    def is_current(self) -> bool:
        """Whether nothing has taken its place yet: of a planned change, what still holds too.

        ``Memory.get(hit.id).is_current`` is False as soon as anything supersedes the row.
        """

    @property
    def priority(self) -> int:
        """0 to 100."""

    @property
    def trust(self) -> Trust:
        """Where it came from."""

    @property
    def explanation(self) -> Mapping[str, Any] | None:
        """What the score is made of, where ``explain=True`` asked for it."""

    @property
    def key(self) -> int:
        """The id as one number: the tier's in the top byte."""

    @property
    def bm25_score(self) -> float | None:
        """The lexical score; None where the row is not among the candidates of the words."""

    @property
    def cosine(self) -> float | None:
        """The cosine; None where the row is not among the candidates of the vectors."""

    @property
    def metadata_json(self) -> str:
        """The metadata as it is stored: a JSON object."""

    def asdict(self) -> dict[str, Any]:
        """Return all fields but the last four by name, as ``__match_args__`` lists them."""

    @staticmethod
    def _restore(state: tuple[Any, ...]) -> Hit: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@final
class Asked:
    """What a search needs beside text and vector, checked once for as many as ask the same."""

    def __new__(
        cls,
        k: int,
        depth: int,
        *,
        weights: tuple[float, float] = ...,
        rrf_k: float = 60.0,
        ranking: Ranking | None = None,
        hints: bool = False,
        explain: _Explain | None = None,
        as_of_ms: int | None = None,
        tiers: int = 2,
        scopes: Sequence[str] = ...,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        any_tags: Sequence[str] | None = None,
        where: str | None = None,
        session: str | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
    ) -> Asked:
        """Check what is asked.

        Args:
            k: Hits wanted, at least 1.
            depth: Candidates from each signal; at least k are taken.
            weights: Of BM25 and vectors in the fusion, at least 0.
            rrf_k: The constant of plain RRF, above 0; without effect where a ranking is given.
            ranking: How the signals become one ranking.
            hints: Whether the times that a text names are read, from ``as_of_ms``, else the present.
            explain: Makes a hit's explanation of RRF's constant with rank and value of each of
                SCORE_PARTS, the lexical score and the cosine.
            as_of_ms: Read at this valid time instead of the present; superseded rows are included.
            tiers: Bit n allows tier n.
            scopes: Each with all below it; none given: everything.
            kinds: Any of them; an empty sequence allows nothing.
            tags: All of them.
            any_tags: Any of them; an empty sequence allows nothing.
            where: A JSON object of conditions on metadata paths and ``$kind``, ``$session``,
                ``$subject``, ``$tag``, ``$priority``, ``$trust``.
            session: Exactly this one.
            since_ms: Event time, else creation, not before.
            until_ms: Event time, else creation, before.

        Raises:
            InvalidInputError: An argument is wrong.
        """

@final
class StoreIndex:
    """The index of a store: immutable generations on disk and a tail in memory. Thread-safe."""

    @staticmethod
    def open(
        directory: str | PathLike[str], *, epoch: str, space: str, ndim: int, ann: _Mode = "auto"
    ) -> StoreIndex:
        """Return the index of a folder; empty with watermark 0 where it holds none.

        Raises:
            IndexCorruptError: It is damaged, or was made for another epoch, space, ndim,
                analyzer or format.
            InvalidInputError: ndim is not in 1..4096, or ann is unknown.
        """

    @property
    def watermark(self) -> int:
        """The last seq of the published generation."""

    @property
    def applied(self) -> int:
        """The last seq in generation and tail."""

    @property
    def tail_len(self) -> int:
        """Live rows of the tail."""

    @property
    def live_len(self) -> int:
        """Live rows."""

    def prepare(self, rows: Sequence[_Row]) -> PreparedRows:
        """Analyse and check rows, the longer part of ``apply``; nothing is changed.

        Raises:
            InvalidInputError: A row is wrong.
            DimensionError: A vector has another length.
        """

    def apply(self, rows: Sequence[_Row] | PreparedRows, removed: Sequence[int], seq: int) -> None:
        """Upsert rows by key, then remove keys; then ``applied`` is at least seq.

        A key in both is removed. Applying the same again changes nothing.

        Raises:
            InvalidInputError: A row is wrong, or the prepared rows were applied already; nothing
                was changed.
            DimensionError: A vector has another length; nothing was changed.
        """

    def search(
        self,
        text: str,
        vector: NDArray[np.float32] | None,
        asked: Asked,
        now_ms: int,
        share: float = 1.0,
    ) -> list[Hit]:
        """Return at most k hits, best first.

        Both signals rank the rows that the filters allow; RRF fuses them. Equal scores are
        ordered by smaller key. The interpreter is released once.

        Args:
            text: Any text up to 1 MiB; blank text has no lexical signal.
            vector: float32, shape (ndim,); None leaves out the vector signal.
            asked: Everything else.
            now_ms: The time of asking: rows whose valid time ended are left out.
            share: Weighs the vectors of this query beside the weights of all.

        Raises:
            InvalidInputError: Text or vector is wrong.
            DimensionError: The vector has another length.
            IndexCorruptError: A row can't be read.
        """

    def search_many(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32] | None,
        asked: Asked,
        now_ms: int,
        shares: Sequence[float] | None = None,
    ) -> list[list[Hit]]:
        """Return the hits of each text with its vector, float32, shape (n, ndim).

        ``shares`` has the share of each query; 1 where it is too short.
        """

    def fold(self, *, minimum: int = 1, settle: bool = False) -> bool:
        """Make a segment of the tail where minimum changes wait, publish, merge what is due.

        With settle few segments are left, as is right when nothing else goes on.

        Returns:
            Whether a generation was published.

        Raises:
            IndexBusyError: Another process is publishing.
        """

    def reload(self) -> bool:
        """Load the generation that another process published; False where there is none.

        Raises:
            IndexCorruptError: It is damaged, gone, or older than ours.
        """

    def verify(self) -> dict[str, int]:
        """Read every file again and look for a sample of the rows; counts as in ``stats``.

        Raises:
            IndexCorruptError: For the first thing that is wrong.
        """

    def keys(self) -> NDArray[np.uint64]:
        """Return the live keys, ascending, shape (n,)."""

    def stats(self) -> dict[str, int]:
        """Return segments, rows, dead, tail, live, vectors, bytes, generation."""

@final
class HybridIndex:
    """A hybrid index without a store: BM25 over texts, cosine over vectors, fused by RRF.

    Thread-safe. Ids are 0 to 2**64 - 1.
    """

    def __new__(cls, ndim: int, *, ann: _Mode = "auto") -> HybridIndex: ...
    @staticmethod
    def open(path: str | PathLike[str], *, ann: _Mode = "auto") -> HybridIndex:
        """Open what ``save`` wrote; the folder is only read."""

    def add(
        self,
        ids: ArrayLike,
        texts: Sequence[str],
        vectors: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        positions: Sequence[int] | None = None,
    ) -> None:
        """Add texts and vectors, found at once; an id that is added again is replaced.

        Args:
            ids: uint64, shape (n,).
            texts: n of any content.
            vectors: float32, shape (n, ndim); brought to unit length.
            groups: uint64, shape (n,): rows that belong together.
            positions: n places in the group.

        Raises:
            InvalidInputError: An argument is wrong; nothing was added.
            DimensionError: The vectors have another length; nothing was added.
        """

    def remove(self, ids: ArrayLike) -> int:
        """Remove ids; return how many were there."""

    def search(
        self,
        text: str,
        vector: ArrayLike | None,
        k: int,
        depth: int | None = None,
        weights: tuple[float, float] | None = None,
        filter: ArrayLike | None = None,
    ) -> SearchResult:
        """Return the k ids that fit best; ``filter`` holds the ids that may be returned."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index into a folder, atomically."""

    def fold(self) -> bool:
        """Make an immutable segment of what was added since the last one, for faster searches."""

    def keys(self) -> NDArray[np.uint64]:
        """Return the live ids, ascending, shape (n,)."""

    @property
    def ndim(self) -> int:
        """Dimensions of the vectors."""

    def __len__(self) -> int: ...

@final
class SearchResult:
    """Ids and scores of a search, best first, with the rank in each signal."""

    @property
    def ids(self) -> NDArray[np.uint64]:
        """Shape (n,)."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """Fused scores, shape (n,)."""

    @property
    def bm25_ranks(self) -> NDArray[np.uint32]:
        """From 1; 0 where the signal did not find the id. Shape (n,)."""

    @property
    def ann_ranks(self) -> NDArray[np.uint32]:
        """From 1; 0 where the signal did not find the id. Shape (n,)."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[int, float]]: ...

@final
class TermIndex:
    """Which terms the live scenes of a clusterer hold, by the slots that the caller gives them."""

    units: int
    """How many openings all scenes hold."""

    def __new__(cls, identifier: float, /) -> TermIndex: ...
    @property
    def slots(self) -> int: ...
    def change(
        self, slot: int, counts: dict[str, int], terms: Sequence[str] | None = None, /
    ) -> None:
        """Take over the counts of these terms of a scene, of all of them where none are named."""

    def leave(self, slot: int, /) -> None:
        """Empty a slot."""

    def measure(self, slot: int, /) -> float:
        """Make the length of a scene's weighted counts anew, and keep it."""

    def set_norm(self, slot: int, norm: float, /) -> None:
        """Keep a length that was measured before."""

    def scores(
        self, terms: dict[str, int], *, factor: float, sibling: float
    ) -> NDArray[np.float64]:
        """How near each scene is to terms, by slot; -inf without anything in common."""

    def scores_with(self, slot: int, /) -> NDArray[np.float64]:
        """How near each scene is to one of them, by slot; -inf without anything in common."""

    def frequencies(self, slot: int, /) -> dict[str, int]:
        """What all scenes count of each term of a scene."""

def fuse(
    rankings: Iterable[Iterable[int]],
    *,
    weights: Sequence[float] | None = None,
    k: float | None = None,
) -> list[tuple[int, float]]:
    """Return the ids of all rankings, best first, with the score: sum of ``weight / (k + rank)``, ranks from 1.

    An id counts once a list, at its first place. Equal scores are ordered by smaller id.

    Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009.

    Args:
        rankings: Lists of ids, 0 to 2**64 - 1, each best first.
        weights: One finite, non-negative number a list; all 1 if None.
        k: Finite, above 0; 60, the paper's value, if None.

    Raises:
        InvalidInputError: k, a weight, their number or an id is not as above.
    """

def analyze(text: str, /) -> list[str]:
    """Return the terms under which a document is indexed, in order, with repetitions."""

def analyze_query(text: str, /) -> list[str]:
    """Return the unique terms of a query, at most ``MAX_QUERY_TERMS``; stop words only if nothing else is left."""

def fold_text(text: str, /) -> str:
    """Return the text in NFKC, case-folded, white space runs as one space, trimmed; a lone surrogate is U+FFFD."""

def digests(texts: Sequence[str], /) -> list[bytes]:
    """Return the XXH3-128 of each text's folded form: 16 bytes, big endian."""

def plain_json(encoded: list[bytes], /) -> list[str | None]:
    """Return the text of each encoded JSON value that a document may hold as it is.

    None where a closer look is due: it is empty, holds ``null``, which may stand for another value, has more than
    16,384 bytes or 64 brackets, or is no UTF-8.
    """

def unit_rows(arrays: list[NDArray[np.float32]], /) -> list[bytes]:
    """Return the rows of each array, shape ``(n, ndim)``, scaled to unit length, float32, little-endian.

    A row shorter than 1e-12 is left out; one of unit length stays bit for bit.

    Raises:
        InvalidInputError: A value is not finite.
    """

def read_hints(text: str, now_ms: int, /) -> list[list[tuple[int, int]]]:
    """Return the spans of time that a question names, in milliseconds, the end not included.

    Of several groups the first that holds any row is meant.
    """

def redact(text: str, /) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the text with ``[redacted:KIND]`` for each secret, and the secrets' places.

    Returns:
        The new text (the same object if nothing was found); start and end in characters of the original, and kind,
        ascending.
    """

def redact_many(texts: Sequence[str], /) -> list[tuple[int, str, list[tuple[int, int, str]]]]:
    """Return index, new text and spans, as ``redact`` does, of those texts that hold secrets."""

@final
class ToolLog:
    """A growing tool log; each call is read once and kept in a few hundred bytes."""

    def __new__(cls) -> ToolLog: ...
    def append(self, calls: list[_Call], /) -> None:
        """Read more calls.

        Raises:
            InvalidInputError: The log would have more than ``MAX_CALLS`` calls.
        """

    def canvas(
        self,
        level: str,
        budget_tokens: int | None = None,
        is_exact: bool = False,
        with_arguments: bool = True,
    ) -> NativeCanvas:
        """Return the diagram at the first level from ``level`` down that fits; ``level`` itself with ``is_exact``.

        Without arguments it is for a reader who has the calls at hand.

        Raises:
            InvalidInputError: An unknown level.
        """

    def copy(self) -> ToolLog:
        """Return the same calls, to go on from without changing this log."""

    def __len__(self) -> int: ...

@final
class NativeCanvas:
    """A diagram and its measures."""

    @property
    def pages(self) -> list[str]:
        """The Mermaid texts, one a page."""

    @property
    def order(self) -> list[int]:
        """For each step the index of its call."""

    @property
    def level(self) -> Level:
        """The level that was taken."""

    @property
    def root(self) -> str:
        """The path prefix that is left out."""

    @property
    def measures(self) -> tuple[int, int, int, int]:
        """Raw bytes, raw tokens, diagram bytes, diagram tokens; tokens are estimated."""

    def steps(self) -> list[Step]:
        """Return what the diagram says, depth first."""

    def tools_view(self) -> str:
        """Return the steps with tools as states."""

    def styled_view(self) -> list[str]:
        """Return the pages with failed states in red."""

def parse(text: str, /) -> list[Step]:
    """Return the steps of a diagram.

    Raises:
        MermaidParseError: agentmem did not write it.
    """

def canonical(text: str, /) -> str:
    """Return a diagram as agentmem writes it.

    Raises:
        MermaidParseError: agentmem did not write it.
    """

def estimate_tokens(text: str, /) -> int:
    """Return about how many tokens a model sees."""

def session_lines(data: bytes, start: int, /) -> tuple[list[tuple[int, int, int, int]], int]:
    """Return the lines from byte ``start`` on that can hold calls, and the number of all lines.

    Each is its number from 0, its first byte, the byte behind its last one, and where the copy of
    a result begins that need not be decoded, or -1.
    """
