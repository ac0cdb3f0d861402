"""`ReadOptions`: how a graph is read, from the command line, Python or a `config.toml`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, Self, TypeVar, get_args

from nodewise.data.splits.ratio import RATIO, shares_of
from nodewise.errors import InputError, UnknownNameError

Missing = Literal["error", "mean", "median", "zero"]
TextAs = Literal["tfidf", "bag"]
_RENAMED: Final = {"unlabelled": "unlabeled"}  # names of earlier releases, still read
_LISTS: Final = ("features", "text", "unlabeled")
Read = TypeVar("Read", bound=Callable[..., Any])


@dataclass(frozen=True)
class Roles:
    """The column of each role; None where none was named or found."""

    id: str | None = None
    label: str | None = None
    split: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None


def _shown(*flags: str, help: str, commas: bool = False) -> dict[str, Any]:
    """The metadata of a field: its option on the command line.

    Args:
        *flags: The option's names; none where the command line has no such option.
        help: Its help text.
        commas: Whether one value may name several things with commas between them.
    """
    return {"flags": flags, "help": help, "commas": commas}


@dataclass(frozen=True)
class ReadOptions:
    """The roles of the columns, and how features are computed from them.

    The fields are keyword arguments of `read_graph`, `from_pandas` and `from_networkx`, options
    of the commands that read tables, and the table `graph.options` of a run's `config.toml`.

    Args:
        id: The column of node ids; by default one called `id` or the like, else the first; in a
            frame without one, the index.
        label: The column of labels; by default one called `label`, `class` or `y`, if there is
            one. A node with an empty cell is to be predicted.
        unlabeled: Further texts in that column that mean no label, such as "unknown".
        split: The column with the values train, val, test or nothing; by default one called
            `split`.
        split_ratio: Training, validation and test nodes of the split that commands draw where the
            table has none; `stratified_split` draws it in Python.
        source: The column of edges where they start; by default one called so, else the first.
        target: The column of edges where they end; by default one called so, else the second.
        weight: The column of edge weights, if they are to be used.
        directed: Whether edges have a direction.
        features: The columns that become features: numbers as such, names one-hot. None takes all
            columns of numbers, and all columns of names with at most 50 distinct names and at
            least two rows for each. An empty list takes no column: a node's features are then
            its degree, one-hot, as for tables without such columns.
        text: Columns of texts, whose words become features.
        text_as: "tfidf", or "bag" for counts of words.
        max_vocabulary: The words of a text column that are kept, the most frequent.
        missing: How to treat an empty cell of a feature column: "error", or fill it with the
            column's "mean", its "median", or "zero"; a cell of names then has no category.
        scale: Whether columns of numbers get mean 0 and deviation 1; zeros and ones stay.
        sparse: Whether `x` is a `torch.sparse_csr` tensor; None decides by density and size.

    Raises:
        InputError: A value is out of range, or none of the known ones.
    """

    label: str | None = field(
        default=None,
        metadata=_shown(
            "--label", help="Column of labels; nodes with an empty cell are predicted."
        ),
    )
    unlabeled: tuple[str, ...] = field(
        default=(),
        metadata=_shown(
            "--unlabeled",
            "--unlabelled",
            help="Texts that mean no label: NA,unknown; repeatable.",
            commas=True,
        ),
    )
    id: str | None = field(default=None, metadata=_shown("--id", help="Column of node ids."))
    source: str | None = field(
        default=None, metadata=_shown("--source", help="Column where an edge starts.")
    )
    target: str | None = field(
        default=None, metadata=_shown("--target", help="Column where an edge ends.")
    )
    weight: str | None = field(
        default=None,
        metadata=_shown("--weight", help="Column of edge weights; without it, all weigh one."),
    )
    directed: bool = field(
        default=False, metadata=_shown("--directed/--undirected", help="Edges have a direction.")
    )
    features: tuple[str, ...] | None = field(
        default=None,
        metadata=_shown(
            "--features",
            help="Columns to use: a,b,c; repeatable. Default: all that can be used.",
            commas=True,
        ),
    )
    text: tuple[str, ...] = field(
        default=(),
        metadata=_shown("--text", help="Column of texts, to use its words; repeatable."),
    )
    text_as: TextAs = field(
        default="tfidf", metadata=_shown("--text-as", help="Words as tfidf, or bag for counts.")
    )
    max_vocabulary: int = field(
        default=5000,
        metadata=_shown("--max-vocabulary", help="How many words of a column of texts to use."),
    )
    missing: Missing = field(
        default="error",
        metadata=_shown("--missing", help="Empty cells of features: error, mean, median or zero."),
    )
    scale: bool = field(
        default=True,
        metadata=_shown(
            "--scale/--no-scale", help="Whether to scale numbers to mean 0 and deviation 1."
        ),
    )
    split: str | None = field(
        default=None,
        metadata=_shown("--split-column", help="Column with the values train, val and test."),
    )
    split_ratio: str = field(
        default=RATIO,
        metadata=_shown("--split-ratio", help="Of the split that is drawn where a table has none."),
    )
    sparse: bool | None = field(
        default=None, metadata=_shown(help="Not on the command line: training decides by density.")
    )

    def __post_init__(self) -> None:
        for name in _LISTS:
            given = getattr(self, name)
            empty = None if name == "features" else ()
            object.__setattr__(self, name, empty if given is None else _names(given))
        _check_known("missing", self.missing, get_args(Missing))
        _check_known("text_as", self.text_as, get_args(TextAs))
        shares_of(self.split_ratio)
        if self.max_vocabulary < 1:
            raise InputError(
                "max_vocabulary",
                "is a count of words",
                value=self.max_vocabulary,
                way_out="give 1 or more",
            )

    @property
    def roles(self) -> Roles:
        """The columns that have a role."""
        return Roles(**{role.name: getattr(self, role.name) for role in fields(Roles)})

    def to_dict(self) -> dict[str, Any]:
        """The options that are not at their defaults, as plain data for TOML and JSON."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            f.name: list(chosen[f.name]) if f.name in _LISTS else chosen[f.name]
            for f in fields(self)
            if chosen[f.name] != f.default
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The options that `to_dict` wrote, also in an earlier release.

        Raises:
            InputError: There is no such option, or a value is wrong.
        """
        return cls().changed(content)

    def changed(self, content: Mapping[str, Any]) -> Self:
        """These options, but for those in `content`.

        Raises:
            InputError: There is no such option, or a value is wrong.
        """
        known = [f.name for f in fields(self)]
        current = current_options(content)
        for name in current:
            _check_known("option", name, known)
        return replace(self, **current)


def chosen_options(
    options: ReadOptions | None, changes: Mapping[str, Any], fitted: object | None
) -> ReadOptions:
    """The options with some of them changed; `fitted` is a preprocessing, or None.

    Raises:
        InputError: There is no such option, a value is wrong, or features are named although a
            preprocessing has fixed them.
    """
    chosen = (options or ReadOptions()).changed(changes)
    if fitted is not None and (chosen.features is not None or chosen.text):
        raise InputError(
            "features",
            "are fixed by the preprocessing, which was given too",
            value=chosen.features or chosen.text,
            way_out="leave out features and text, or the preprocessing",
        )
    return chosen


def current_options(content: Mapping[str, Any]) -> dict[str, Any]:
    """Options under the names of this release."""
    return {_RENAMED.get(name, name): value for name, value in content.items()}


def with_option_names(read: Read) -> Read:
    """The function, its signature with every field of `ReadOptions` as a keyword argument."""
    signature = inspect.signature(read)
    given = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default)
        for f in fields(ReadOptions)
    ]
    read.__signature__ = signature.replace(parameters=[*given, *options])  # type: ignore[attr-defined]
    return read


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _check_known(field: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UnknownNameError(field, value, known)
