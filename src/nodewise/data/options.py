"""What somebody asks for when a graph is read: which columns are what, how features are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from nodewise.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from nodewise.data.preprocessing import Preprocessing

Missing = Literal["error", "mean", "median", "zero"]
TextAs = Literal["tfidf", "bag"]


class Options(TypedDict, total=False):
    """The options of `read_graph`, which documents them."""

    id: str | None
    label: str | None
    unlabeled: str | Iterable[str]
    split: str | None
    source: str | None
    target: str | None
    weight: str | None
    directed: bool
    features: str | Iterable[str] | None
    text: str | Iterable[str]
    text_as: TextAs
    max_vocabulary: int
    missing: Missing
    scale: bool
    sparse: bool | None
    preprocessing: Preprocessing | None


@dataclass(frozen=True)
class Roles:
    """Which columns are what; None where nobody said, or where there is none."""

    id: str | None = None
    label: str | None = None
    split: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None

    def over(self, other: Roles) -> Roles:
        """These, and where there is none the other's."""
        names = [field.name for field in fields(Roles)]
        return Roles(**{name: getattr(self, name) or getattr(other, name) for name in names})


@dataclass(frozen=True)
class Wish:
    """The options of `read_graph`, checked."""

    roles: Roles = field(default_factory=Roles)
    unlabeled: tuple[str, ...] = ()
    directed: bool = False
    features: tuple[str, ...] | None = None
    text: tuple[str, ...] = ()
    text_as: TextAs = "tfidf"
    max_vocabulary: int = 5000
    missing: Missing = "error"
    scale: bool = True
    sparse: bool | None = None
    preprocessing: Preprocessing | None = None

    def __post_init__(self) -> None:
        _check_known("missing", self.missing, get_args(Missing))
        _check_known("text_as", self.text_as, get_args(TextAs))
        if self.max_vocabulary < 1:
            raise InputError(
                "max_vocabulary",
                "is a count of words",
                value=self.max_vocabulary,
                way_out="give 1 or more",
            )
        if self.preprocessing is not None and (self.features is not None or self.text):
            raise InputError(
                "features",
                "are fixed by the preprocessing, which was given too",
                value=self.features or self.text,
                way_out="leave out features and text, or the preprocessing",
            )

    @classmethod
    def of(cls, options: Options) -> Wish:
        """The wish that options spell out."""
        given: dict[str, Any] = dict(options)
        roles = Roles(**{f.name: given.pop(f.name, None) for f in fields(Roles)})
        for name in ("features", "text", "unlabeled"):
            if given.get(name) is not None:
                given[name] = _names(given[name])
        return cls(roles=roles, **given)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _check_known(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UnknownNameError(field, value, known)
