from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch_geometric.data import Data
from torch_geometric.datasets import Amazon, Coauthor, Planetoid
from torch_geometric.transforms import LargestConnectedComponents

import nodewise as nw
from nodewise.data.datasets import edge_homophily, feature_density, load_without_split
from nodewise.data.published.catalog import DATASETS, GraphSizes
from nodewise.data.published.readers import RawGraph, undirected
from nodewise.errors import RawFileError, SplitError, UnknownNameError
from tests.data.raw_files import mini_dataset, planetoid_files, write_files

REAL = {
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "amazon": (13381, 245778, 767, 10),
    "chameleon": (2277, 31371, 2325, 5),
    "chameleon-filtered": (890, 8854, 2325, 5),
    "squirrel-filtered": (2223, 46998, 2089, 5),
    "actor": (7600, 26659, 932, 5),
    "minesweeper": (10000, 39402, 7, 2),
    "cornell": (183, 277, 1703, 5),
    "coauthor-cs": (18333, 81894, 6805, 15),
}
SIZES = {
    "cora": (140, 500, 1000),
    "citeseer": (120, 500, 1000),
    "amazon": (200, 500, 1000),
    "chameleon": (100, 500, 1000),
    "chameleon-filtered": (409, 287, 194),
    "squirrel-filtered": (1053, 718, 452),
    "actor": (3648, 2432, 1520),
    "minesweeper": (5000, 2500, 2500),
    "cornell": (87, 59, 37),
    "coauthor-cs": (300, 500, 1000),
}


def sizes(data: Data) -> tuple[int, ...]:
    return tuple(int(data[name].sum()) for name in ("train_mask", "val_mask", "test_mask"))


def split_of(data: Data) -> nw.Split:
    return nw.Split.from_masks(data.train_mask, data.val_mask, data.test_mask)


@pytest.fixture
def mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set called mini in the catalog; its root."""
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path / "cache"))
    files = planetoid_files()
    write_files(files, tmp_path / "root" / "mini")
    monkeypatch.setitem(DATASETS, "mini", mini_dataset(files))
    return tmp_path / "root"


def test_mini_from_files_to_data(mini: Path) -> None:
    data = nw.load_dataset("mini", mini)
    assert data.x.shape == (611, 4) and data.x.dtype == torch.float32
    assert data.y.dtype == torch.int64 and int(data.y[605]) == -1
    assert sizes(data) == (20, 500, 10) and data.train_mask.shape == (611,)
    assert "class_names" not in data and "feature_names" not in data


def test_root_comes_from_the_environment(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEWISE_DATA", str(mini))
    assert nw.load_dataset("mini").num_nodes == 611


def test_sparse_features_are_the_same(mini: Path) -> None:
    sparse = nw.load_dataset("mini", mini, sparse=True)
    assert sparse.x.layout == torch.sparse_csr and sparse.num_features == 4
    assert torch.equal(sparse.x.to_dense(), nw.load_dataset("mini", mini).x)


def test_ways_to_name_a_split(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATASETS, "mini", replace(DATASETS["mini"], val=100, test=None))
    default = nw.load_dataset("mini", mini)
    drawn = nw.load_dataset("mini", mini, split="random", seed=3)
    own = nw.Split([0, 1], [2], [3])
    assert split_of(default) == split_of(nw.load_dataset("mini", mini, split=0))
    assert split_of(default) == split_of(nw.load_dataset("mini", mini, split="public"))
    assert split_of(drawn) == nw.random_split(drawn.y, val=100, test=None, seed=3)
    assert sizes(drawn) == (60, 100, 450)
    assert split_of(nw.load_dataset("mini", mini, split=own)) == own
    assert sizes(nw.load_dataset("mini", mini, split="few")) == (60, 101, 449)
    many = nw.load_dataset("mini", mini, split="many", seed=3)
    assert split_of(many) == nw.stratified_split(many.y, 3)


def test_a_split_that_cannot_be_had(mini: Path) -> None:
    with pytest.raises(SplitError, match="1 stored splits") as stored:
        nw.load_dataset("mini", mini, split=1)
    assert stored.value.value == 1
    with pytest.raises(UnknownNameError, match="did you mean 'public'"):
        nw.load_dataset("mini", mini, split="publik")
    with pytest.raises(SplitError, match="names a node"):
        nw.load_dataset("mini", mini, split=nw.Split([0], [1], [611]))
    with pytest.raises(SplitError, match="no label") as unlabeled:
        nw.load_dataset("mini", mini, split=nw.Split([0], [1], [605]))
    assert unlabeled.value.position == (605,)
    with pytest.raises(SplitError, match="550 labels are left after 60"):
        nw.load_dataset("mini", mini, split="random")


def test_counts_are_asserted(mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(DATASETS["mini"], counts=GraphSizes(611, 611, 4, 3))
    monkeypatch.setitem(DATASETS, "mini", wrong)
    with pytest.raises(RawFileError, match=r"edges=611.*edges=610"):
        nw.load_dataset("mini", mini)


def test_toy_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path))  # a cache would outlive a change of it
    data = nw.load_dataset("toy", tmp_path)
    classes = int(data.y.max()) + 1
    assert sizes(data) == (20 * classes, 500, data.num_nodes - 20 * classes - 500)
    assert len(data.class_names) == classes and len(data.feature_names) == data.num_features
    fields = nw.toy_graph().to_dict()
    assert fields.keys() == set(data.keys()) - {"train_mask", "val_mask", "test_mask"}
    for name, value in fields.items():
        same = torch.equal if isinstance(value, torch.Tensor) else list.__eq__
        assert same(data[name], value), name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name: str, data_root: Path) -> None:
    before = sorted(data_root.rglob("*"))
    data = nw.load_dataset(name, sparse=True)
    nodes, edges, features, classes = REAL[name]
    assert data.x.shape == (nodes, features) and data.x.dtype == torch.float32
    assert data.edge_index.shape == (2, 2 * edges) and int(data.y.max()) + 1 == classes
    assert sizes(data) == SIZES[name]
    source, target = data.edge_index.numpy()
    keys = source * nodes + target
    assert (np.diff(keys) > 0).all() and (source != target).all()
    assert np.array_equal(np.sort(target * nodes + source), keys)
    assert sorted(data_root.rglob("*")) == before


@pytest.mark.parametrize("name", ["amazon", "chameleon"])
def test_random_splits_are_the_default_where_the_paper_drew_one(name: str, data_root: Path) -> None:
    data = nw.load_dataset(name)
    assert split_of(data) == nw.random_split(data.y, seed=0)
    assert split_of(nw.load_dataset(name, seed=1)) == nw.random_split(data.y, seed=1)


def test_the_splits_of_the_paper_are_the_same_for_good(data_root: Path) -> None:
    names = ("amazon", "chameleon")
    assert {name: split_of(nw.load_dataset(name)).sha256()[:12] for name in names} == {
        "amazon": "c010db17ab2d",
        "chameleon": "1ad2a27c9e07",
    }


@pytest.mark.parametrize(
    "name",
    ["chameleon", "chameleon-filtered", "squirrel-filtered", "actor", "minesweeper", "cornell"],
)
def test_ten_stored_splits(name: str, data_root: Path) -> None:
    splits = {split_of(nw.load_dataset(name, split=k)) for k in range(10)}
    assert len(splits) == 10
    with pytest.raises(SplitError, match="10 stored splits"):
        nw.load_dataset(name, split=10)


# The split `few` needs forty nodes of each class.
FEW = {name: classes for name, (_, _, _, classes) in REAL.items() if name != "cornell"}


@pytest.mark.parametrize("name", REAL)
def test_splits_for_every_real_graph(name: str, data_root: Path) -> None:
    many = sizes(data := nw.load_dataset(name, split="many", sparse=True))
    labeled = int((data.y >= 0).sum())
    assert sum(many) == labeled and many[0] == pytest.approx(0.6 * labeled, abs=20)
    if name in FEW:
        few = sizes(nw.load_dataset(name, split="few", sparse=True))
        assert few[:2] == (20 * FEW[name], 500 if labeled >= 3000 else labeled // 6)
        assert sum(few) == labeled
    else:
        with pytest.raises(SplitError, match="has 16 nodes"):
            nw.load_dataset(name, split="few", sparse=True)


def test_amazon_has_no_stored_split_and_filtered_no_room_for_the_usual_one(data_root: Path) -> None:
    with pytest.raises(SplitError, match="0 stored splits"):
        nw.load_dataset("amazon", split="public")
    with pytest.raises(SplitError, match="790 labels are left"):
        nw.load_dataset("chameleon-filtered", split="random")


def test_nodes_with_nothing(data_root: Path) -> None:
    citeseer, chameleon = nw.load_dataset("citeseer"), nw.load_dataset("chameleon")
    bare = citeseer.x.sum(1) == 0
    assert int(bare.sum()) == 15 and torch.equal(bare, citeseer.y == -1)
    assert not (bare & (citeseer.train_mask | citeseer.val_mask | citeseer.test_mask)).any()
    assert 3327 - len(citeseer.edge_index[0].unique()) == 48
    assert int((chameleon.x.sum(1) == 0).sum()) == 233


CLASS_SIZES = {
    "cora": {
        "Theory": 351,
        "Reinforcement_Learning": 217,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Case_Based": 298,
        "Rule_Learning": 180,
    },
    "citeseer": {"AI": 249, "ML": 590, "IR": 668, "DB": 701, "Agents": 596, "HCI": 508},
}


@pytest.mark.parametrize("name", CLASS_SIZES)
def test_class_names_fit_the_sizes_in_the_original_collections(name: str, data_root: Path) -> None:
    data = nw.load_dataset(name)
    counts = torch.bincount(data.y[data.y >= 0]).tolist()
    assert dict(zip(data.class_names, counts, strict=True)) == CLASS_SIZES[name]


def link(target: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    os.symlink(target, folder / target.name)


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_pyg_reads_the_same_planetoid_graph(name: str, data_root: Path, tmp_path: Path) -> None:
    for path in (data_root / "planetoid").glob(f"ind.{name}.*"):
        link(path, tmp_path / name / "raw")
    reference, data = Planetoid(str(tmp_path), name)[0], nw.load_dataset(name)
    assert torch.equal(data.x, reference.x)
    assert torch.equal(data.edge_index, reference.edge_index.flip(0))  # PyG sorts these by target
    assert torch.equal(data.y.clamp(min=0), reference.y)  # PyG calls the unlabeled class 0
    for mask in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[mask], reference[mask])


def test_pyg_reads_the_same_amazon_graph(data_root: Path, tmp_path: Path) -> None:
    (npz,) = (data_root / "amazon").iterdir()
    link(npz, tmp_path / "Computers" / "raw")
    reference = LargestConnectedComponents()(Amazon(str(tmp_path), "computers")[0])
    data = nw.load_dataset("amazon", sparse=True)
    assert torch.equal(data.x.to_dense(), reference.x) and torch.equal(data.y, reference.y)
    assert torch.equal(data.edge_index, reference.edge_index)
    assert data.class_names[4] == "Computer Components"


@pytest.mark.medium
def test_pyg_reads_the_same_coauthor_graph(data_root: Path, tmp_path: Path) -> None:
    link(data_root / "coauthor" / "ms_academic_cs.npz", tmp_path / "CS" / "raw")
    reference, data = Coauthor(str(tmp_path), "CS")[0], nw.load_dataset("coauthor-cs", sparse=True)
    assert torch.equal(data.edge_index, reference.edge_index) and torch.equal(data.y, reference.y)
    # PyG sets every count to 1. A dense copy of ours would be another 500 MB.
    rows = data.x.crow_indices().diff()
    assert torch.equal(rows, reference.x.count_nonzero(1))
    assert bool(
        reference.x[torch.arange(18333).repeat_interleave(rows), data.x.col_indices()].all()
    )
    assert data.feature_names[0] == "1 dimensional" and len(set(data.feature_names)) == 6805
    assert len(data.class_names) == 15


def path_graph(*labels: int) -> RawGraph:
    left = np.arange(len(labels) - 1)
    edges = undirected(np.stack([left, left + 1]), len(labels))
    return RawGraph(csr_matrix(np.eye(len(labels), 3)), edges, np.array(labels))


def test_feature_density() -> None:
    assert feature_density(path_graph(0, 0, 1, 1)) == 3 / 12


def test_edge_homophily_leaves_out_unlabeled_nodes() -> None:
    assert edge_homophily(path_graph(0, 0, 1, 1, 0)) == 2 / 4
    assert edge_homophily(path_graph(0, 0, 1, -1, -1)) == 1 / 2
    assert edge_homophily(path_graph(-1, -1)) is None


def test_without_a_split_it_is_the_same_graph() -> None:
    bare, data = load_without_split("toy"), nw.load_dataset("toy")
    assert torch.equal(bare.x, data.x) and torch.equal(bare.edge_index, data.edge_index)
    assert not any("mask" in name for name in bare.keys())  # noqa: SIM118


def test_small_features_stay_dense_where_density_decides() -> None:
    assert nw.load_dataset("toy", sparse=None).x.layout == torch.strided
