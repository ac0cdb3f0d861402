"""The data sets by name. What sets them apart is written in the table, never asked in the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from scipy.sparse import csr_matrix

from nodewise.data.cache import cached
from nodewise.data.checksums import SHA256
from nodewise.data.files import RawFile
from nodewise.data.readers import RawGraph, read_amazon, read_planetoid, read_wikipedia
from nodewise.errors import RawFileError, UnknownNameError


@dataclass(frozen=True)
class Counts:
    """The size of a graph; an edge and its reverse count once."""

    nodes: int
    edges: int
    features: int
    classes: int

    @classmethod
    def of(cls, graph: RawGraph) -> Counts:
        """Count what is in `graph`."""
        nodes, features = graph.x.shape
        return cls(nodes, graph.edge_index.shape[1] // 2, features, int(graph.y.max()) + 1)


@dataclass(frozen=True)
class Dataset:
    """A data set: where it comes from, how to read it, what must come out, how it is split.

    Args:
        name: What users call it.
        source: The page of its public home.
        read: Bytes by file name to a graph.
        files: The raw files; none for a generated graph.
        counts: What a loader must find; None for a generated graph, whose own test pins it.
        class_names: Names of the classes where the files have none.
        default_stored: The stored split used by default; None draws a random one.
        per_class: Training nodes per class of a random split.
        val: Its validation nodes.
        test: Its test nodes; None takes the rest.
        license: The license at the source.
    """

    name: str
    source: str
    read: Callable[[Mapping[str, bytes]], RawGraph]
    files: tuple[RawFile, ...] = ()
    counts: Counts | None = None
    class_names: tuple[str, ...] | None = None
    default_stored: int | None = None
    per_class: int = 20
    val: int = 500
    test: int | None = 1000
    license: str = "MIT"

    def present(self, root: Path) -> bool:
        """Whether all raw files are under `root`, be they sound or not."""
        return all((root / file.path).exists() for file in self.files)

    def graph(self, root: Path) -> RawGraph:
        """The graph, from the cache or from raw files, which are downloaded if need be.

        Raises:
            RawFileError: A raw file cannot be had, is damaged, or holds another graph.
        """
        read = partial(self._read, root)
        graph = cached(self.name, self.files, root, read) if self.files else read()
        if self.counts not in (None, Counts.of(graph)):
            raise RawFileError(
                self.name,
                f"the raw files should hold {self.counts}",
                value=Counts.of(graph),
                way_out=f"delete them under {root}, and they are fetched anew",
            )
        return replace(graph, class_names=graph.class_names or self.class_names)

    def _read(self, root: Path) -> RawGraph:
        return self.read({file.name: file.read(root) for file in self.files})


def find_dataset(name: str) -> Dataset:
    """The data set of that name.

    Raises:
        UnknownNameError: There is none; the error names the nearest.
    """
    if name not in DATASETS:
        raise UnknownNameError("dataset", name, DATASETS)
    return DATASETS[name]


def _files(home: str, *paths: str) -> tuple[RawFile, ...]:
    return tuple(RawFile(path, home + Path(path).name, SHA256[path]) for path in paths)


def _planetoid(name: str) -> tuple[RawFile, ...]:
    parts = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
    home = "https://github.com/kimiyoung/planetoid/raw/master/data/"
    return _files(home, *(f"planetoid/ind.{name}.{part}" for part in parts))


def _amazon(name: str) -> tuple[RawFile, ...]:
    home = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/"
    return _files(home, f"amazon/{name}.npz")


def _wikipedia(name: str) -> tuple[RawFile, ...]:
    home = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/"
    return _files(home, f"wikipedia/{name}.npz")


def _read_toy(_files: Mapping[str, bytes]) -> RawGraph:
    # Imported late: the graph comes as PyG's Data, and importing PyG takes seconds.
    from nodewise.data.toy import toy_graph

    fields = toy_graph().to_dict()
    return RawGraph(
        x=csr_matrix(fields.pop("x").numpy()),
        edge_index=fields.pop("edge_index").numpy(),
        y=fields.pop("y").numpy(),
        feature_names=tuple(fields.pop("feature_names")),
        class_names=tuple(fields.pop("class_names")),
        extras=fields,
    )


# The files number the classes of Cora and Citeseer without naming them. The names are those of the
# original collections, matched by class size, which no two classes share.
_CORA_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
_CITESEER_CLASSES = ("AI", "ML", "IR", "DB", "Agents", "HCI")

_TABLE = (
    Dataset(
        name="toy",
        source="generated by nodewise",
        read=_read_toy,
        test=None,
    ),
    Dataset(
        name="cora",
        source="https://github.com/kimiyoung/planetoid",
        read=read_planetoid,
        files=_planetoid("cora"),
        counts=Counts(2708, 5278, 1433, 7),
        class_names=_CORA_CLASSES,
        default_stored=0,
    ),
    Dataset(
        name="citeseer",
        source="https://github.com/kimiyoung/planetoid",
        read=read_planetoid,
        files=_planetoid("citeseer"),
        counts=Counts(3327, 4552, 3703, 6),
        class_names=_CITESEER_CLASSES,
        default_stored=0,
    ),
    Dataset(
        name="amazon",
        source="https://github.com/shchur/gnn-benchmark",
        read=read_amazon,
        files=_amazon("amazon_electronics_computers"),
        counts=Counts(13381, 245778, 767, 10),
    ),
    Dataset(
        name="chameleon",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_wikipedia,
        files=_wikipedia("chameleon"),
        counts=Counts(2277, 31371, 2325, 5),
    ),
    Dataset(
        name="chameleon-filtered",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_wikipedia,
        files=_wikipedia("chameleon_filtered"),
        counts=Counts(890, 8854, 2325, 5),
        default_stored=0,
    ),
)
DATASETS: Final = {dataset.name: dataset for dataset in _TABLE}
