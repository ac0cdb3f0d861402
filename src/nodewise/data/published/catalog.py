"""The data sets by name: a table, so that no code depends on a data set's name."""

# ruff: noqa: E501 (a digest cannot be broken over lines)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from scipy.sparse import csr_matrix

from nodewise.data.published.cache import cached
from nodewise.data.published.files import RawFile
from nodewise.data.published.readers import (
    RawGraph,
    read_gnn_benchmark,
    read_heterophilous,
    read_planetoid,
)
from nodewise.errors import RawFileError, UnknownNameError

# The fingerprint of every raw file, by its path under the data root.
SHA256: Final = {
    "amazon/amazon_electronics_computers.npz": "736ba1d9fd85eac2da83a5ad25c463f04b0031a6ca01563f90a7099d9e8ffb2c",
    "coauthor/ms_academic_cs.npz": "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3",
    "heterophilous/actor.npz": "c350eef06b2c2a9bf8218be2b57cac6d4003d0922eb597a039e9123f75817816",
    "heterophilous/cornell.npz": "684c54ba3daa13b0ba1f04a3d6dd1b1175c1ae9bdeb982851fd4ff96d3aac298",
    "heterophilous/minesweeper.npz": "e664c8dacf1e8ac466c2c09ed4b237bd2c5541f47a6eae9c6092cb87f16412b3",
    "heterophilous/squirrel_filtered.npz": "f06370ffb3116c5de8b7a600005400b2293c025e0ce2f6916d8201a825505ac7",
    "planetoid/ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "planetoid/ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "planetoid/ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "planetoid/ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "planetoid/ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "planetoid/ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "planetoid/ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "planetoid/ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "planetoid/ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "planetoid/ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "planetoid/ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "planetoid/ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "planetoid/ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "planetoid/ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "planetoid/ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "planetoid/ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "wikipedia/chameleon.npz": "4c640bd2877fc4f9f101531e2f977bc16445a54e09a5cb01178df608e552f3fd",
    "wikipedia/chameleon_filtered.npz": "bf46f07e1fb5249280447e5fe3100f3e82fc4b93ad1e13ffcfdec924b6ac0bb5",
}


@dataclass(frozen=True)
class GraphSizes:
    """The size of a graph; an edge and its reverse count once."""

    nodes: int
    edges: int
    features: int
    classes: int

    @classmethod
    def of(cls, graph: RawGraph) -> GraphSizes:
        """Count what is in `graph`."""
        nodes, features = graph.x.shape
        return cls(nodes, graph.edge_index.shape[1] // 2, features, int(graph.y.max()) + 1)


@dataclass(frozen=True)
class Dataset:
    """A data set: its files, how to read and check them, and how it is split.

    Args:
        name: What users call it.
        source: The page that it is published on.
        read: Returns the graph, from the files' bytes by name.
        files: The raw files; none for a generated graph.
        counts: The sizes that reading must give; None for a generated graph.
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
    counts: GraphSizes | None = None
    class_names: tuple[str, ...] | None = None
    default_stored: int | None = None
    per_class: int = 20
    val: int = 500
    test: int | None = 1000
    license: str = "MIT"

    def present(self, root: Path) -> bool:
        """Whether all raw files are under `root`, valid or not."""
        return all((root / file.path).exists() for file in self.files)

    def graph(self, root: Path) -> RawGraph:
        """The graph, from the cache or from raw files, which are downloaded if they are missing.

        Raises:
            RawFileError: A raw file cannot be downloaded, is damaged, or holds another graph.
        """
        read = partial(self._read, root)
        graph = cached(self.name, self.files, root, read) if self.files else read()
        if self.counts not in (None, GraphSizes.of(graph)):
            raise RawFileError(
                self.name,
                f"the raw files should hold {self.counts}",
                value=GraphSizes.of(graph),
                way_out=f"delete them under {root}, and they are downloaded again",
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


def _gnn_benchmark(path: str) -> tuple[RawFile, ...]:
    return _files("https://github.com/shchur/gnn-benchmark/raw/master/data/npz/", path)


def _heterophilous(path: str) -> tuple[RawFile, ...]:
    home = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/"
    return _files(home, path)


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
# The file of Coauthor CS has its names as a pickled array, which is never opened. The names were
# read off its bytes.
_COAUTHOR_CLASSES = (
    "bioinformatics",
    "machine_learning",
    "computer_vision",
    "NLP",
    "graphics",
    "networks",
    "security",
    "databases",
    "data_mining",
    "game_theory",
    "HCI",
    "information_theory",
    "medical_informatics",
    "robotics",
    "theoretical_cs",
)

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
        counts=GraphSizes(2708, 5278, 1433, 7),
        class_names=_CORA_CLASSES,
        default_stored=0,
    ),
    Dataset(
        name="citeseer",
        source="https://github.com/kimiyoung/planetoid",
        read=read_planetoid,
        files=_planetoid("citeseer"),
        counts=GraphSizes(3327, 4552, 3703, 6),
        class_names=_CITESEER_CLASSES,
        default_stored=0,
    ),
    Dataset(
        name="amazon",
        source="https://github.com/shchur/gnn-benchmark",
        read=read_gnn_benchmark,
        files=_gnn_benchmark("amazon/amazon_electronics_computers.npz"),
        counts=GraphSizes(13381, 245778, 767, 10),
    ),
    Dataset(
        name="chameleon",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("wikipedia/chameleon.npz"),
        counts=GraphSizes(2277, 31371, 2325, 5),
    ),
    Dataset(
        name="chameleon-filtered",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("wikipedia/chameleon_filtered.npz"),
        counts=GraphSizes(890, 8854, 2325, 5),
        default_stored=0,
    ),
    Dataset(
        name="squirrel-filtered",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("heterophilous/squirrel_filtered.npz"),
        counts=GraphSizes(2223, 46998, 2089, 5),
        default_stored=0,
    ),
    Dataset(
        name="actor",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("heterophilous/actor.npz"),
        counts=GraphSizes(7600, 26659, 932, 5),
        default_stored=0,
    ),
    Dataset(
        name="minesweeper",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("heterophilous/minesweeper.npz"),
        counts=GraphSizes(10000, 39402, 7, 2),
        default_stored=0,
    ),
    Dataset(
        name="cornell",
        source="https://github.com/yandex-research/heterophilous-graphs",
        read=read_heterophilous,
        files=_heterophilous("heterophilous/cornell.npz"),
        counts=GraphSizes(183, 277, 1703, 5),
        default_stored=0,
    ),
    Dataset(
        name="coauthor-cs",
        source="https://github.com/shchur/gnn-benchmark",
        read=partial(read_gnn_benchmark, names=("attr_names",)),
        files=_gnn_benchmark("coauthor/ms_academic_cs.npz"),
        counts=GraphSizes(18333, 81894, 6805, 15),
        class_names=_COAUTHOR_CLASSES,
    ),
)
DATASETS: Final = {dataset.name: dataset for dataset in _TABLE}
