"""Bad input, one table: each case names the field, the value, its place and the way out."""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data.checks import check_data, check_graph, check_split
from nodewise.data.published.safe_pickle import loads
from nodewise.data.splits.drawn import random_split
from nodewise.data.splits.split import Split
from nodewise.errors import (
    GraphError,
    InputError,
    NodewiseError,
    RawFileError,
    SplitError,
    UnknownNameError,
)
from tests.data.raw_files import mini_dataset, planetoid_files, write_files

X = torch.ones(4, 3)
EDGES = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
Y = torch.tensor([0, 1, 1, -1])
NODE = torch.eye(4, dtype=torch.bool)
NONE = torch.zeros(4, dtype=torch.bool)
LABELS = np.arange(60) % 3


class Case(NamedTuple):
    name: str
    run: Callable[[Path], object]
    error: type[InputError]
    field: str
    value: object
    position: int | tuple[int, ...] | None
    way_out: str


def graph(x: torch.Tensor = X, edges: torch.Tensor = EDGES, y: torch.Tensor = Y) -> Callable:
    return lambda _: check_graph(x, edges, y)


def masks(
    train: torch.Tensor | None = NODE[0],
    val: torch.Tensor | None = NODE[1],
    test: torch.Tensor | None = NODE[2],
) -> Callable:
    return lambda _: check_split(train, val, test, num_nodes=4, y=Y)


def data(**fields: object) -> Callable:
    return lambda _: check_data(Data(**{"x": X, "edge_index": EDGES, "y": Y, **fields}))


def split(train: object = (0,), val: object = (1,), test: object = (2,)) -> Callable:
    return lambda _: Split(train, val, test)


def with_entry(tensor: torch.Tensor, place: tuple[int, ...], value: float) -> torch.Tensor:
    changed = tensor.clone()
    changed[place] = value
    return changed


def sparse(x: torch.Tensor) -> torch.Tensor:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.to_sparse_csr()


def raw(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """A data set of which one raw file was changed on disk."""

    def run(folder: Path) -> object:
        files = planetoid_files()
        write_files({**files, name: change(files[name])}, folder / "mini")
        return mini_dataset(files).graph(folder)

    return run


def missing(folder: Path) -> object:
    files = planetoid_files()
    write_files({name: files[name] for name in files if not name.endswith(".ty")}, folder / "mini")
    return mini_dataset(files).graph(folder)


def unreadable(folder: Path) -> object:
    (folder / "mini" / "ind.mini.x").mkdir(parents=True)
    return mini_dataset(planetoid_files()).graph(folder)


def hostile(_: Path) -> object:
    return loads("ind.cora.x", b"cposix\nsystem\n(S'true'\ntR.")


INF, NAN = float("inf"), float("nan")
# fmt: off
CASES = [
    Case("negative id", graph(edges=with_entry(EDGES, (1, 2), -1)), GraphError, "edge_index", -1, (1, 2), "number the nodes from 0"),
    Case("id out of range", graph(edges=with_entry(EDGES, (0, 3), 4)), GraphError, "edge_index", 4, (0, 3), "number the nodes from 0"),
    Case("float ids", graph(edges=EDGES.float()), GraphError, "edge_index", torch.float32, None, "edge_index.long()"),
    Case("pairs not transposed", graph(edges=EDGES.t()), GraphError, "edge_index", (4, 2), None, "edge_index.t()"),
    Case("no edges", graph(edges=EDGES[:, :0]), GraphError, "edge_index", (2, 0), None, "give edges"),
    Case("empty graph", graph(x=X[:0]), GraphError, "x", (0, 3), None, "at least one"),
    Case("no features", graph(x=X[:, :0]), GraphError, "x", (4, 0), None, "constant column"),
    Case("flat features", graph(x=X[:, 0]), GraphError, "x", (4,), None, "x.view(-1, 1)"),
    Case("integer features", graph(x=X.long()), GraphError, "x", torch.int64, None, "x.float()"),
    Case("NaN feature", graph(x=with_entry(X, (2, 1), NAN)), GraphError, "x", NAN, (2, 1), "nan_to_num"),
    Case("infinite feature", graph(x=with_entry(X, (3, 0), -INF)), GraphError, "x", -INF, (3, 0), "nan_to_num"),
    Case("NaN in CSR", graph(x=sparse(with_entry(torch.eye(4), (2, 2), NAN))), GraphError, "x", NAN, (2, 2), "nan_to_num"),
    Case("too few labels", graph(y=Y[:3]), GraphError, "y", (3,), None, "-1 to nodes without a label"),
    Case("one-hot labels", graph(y=torch.eye(4).long()), GraphError, "y", (4, 4), None, "y.argmax(1)"),
    Case("numbers to predict", graph(y=Y + 0.5), GraphError, "y", 0.5, None, "into bins"),
    Case("float labels", graph(y=Y.float()), GraphError, "y", torch.float32, None, "y.long()"),
    Case("label below -1", graph(y=with_entry(Y, (3,), -7)), GraphError, "y", -7, (3,), "number the classes from 0"),
    Case("labels with gaps", graph(y=with_entry(Y, (3,), 3)), GraphError, "y", 2, None, "torch.unique"),
    Case("no labels", graph(y=torch.full((4,), -1)), GraphError, "y", -1, None, "label some nodes"),
    Case("missing x", data(x=None), GraphError, "x", None, None, "Data(x=...)"),
    Case("missing edges", data(edge_index=None), GraphError, "edge_index", None, None, "Data(edge_index=...)"),
    Case("feature names", data(feature_names=["a"]), GraphError, "feature_names", 1, None, "one name for each"),
    Case("class names", data(class_names=["a"]), GraphError, "class_names", 1, None, "one name for each"),
    Case("overlap", masks(val=NODE[0] | NODE[1]), SplitError, "val_mask", True, (0,), "val_mask &= ~train_mask"),
    Case("test overlap", masks(test=NODE[1]), SplitError, "test_mask", True, (1,), "test_mask &= ~val_mask"),
    Case("two-dimensional mask", masks(train=NODE), SplitError, "train_mask", (4, 4), None, "mask[:, 0]"),
    Case("short mask", masks(test=NODE[0, :3]), SplitError, "test_mask", (3,), None, "mask[:, 0]"),
    Case("index as mask", masks(val=torch.arange(4)), SplitError, "val_mask", torch.int64, None, "mask.bool()"),
    Case("missing mask", masks(val=None), SplitError, "val_mask", None, None, "all three"),
    Case("missing mask in data", data(train_mask=NODE[0], test_mask=NODE[1]), SplitError, "val_mask", None, None, "all three"),
    Case("nothing to learn", masks(train=NONE), SplitError, "train_mask", None, None, "nodes to learn from"),
    Case("unlabeled node", masks(test=NODE[3]), SplitError, "test_mask", -1, (3,), "test_mask &= y >= 0"),
    Case("split overlap", split(val=(5, 0)), SplitError, "val", 0, 0, "one of train, val and test"),
    Case("split repeat", split(train=(4, 9, 4)), SplitError, "train", 4, 2, "numpy.unique"),
    Case("split negative", split(test=(3, -2)), SplitError, "test", -2, 1, "from 0"),
    Case("split of floats", split(train=(0.5,)), SplitError, "train", "float64 of shape (1,)", None, "from_masks"),
    Case("split of masks", lambda _: Split.from_masks(NODE, NODE[1], NODE[2]), SplitError, "train_mask", "bool of shape (4, 4)", None, "mask[:, 0]"),
    Case("split of a larger graph", lambda _: Split([0], [1], [9]).masks(4), SplitError, "test", 9, 0, "the graph it was made for"),
    Case("class too small", lambda _: random_split(LABELS, 21, 0, 0), SplitError, "y", 20, None, "per_class=20"),
    Case("labels run out", lambda _: random_split(LABELS, 5, 40, 10), SplitError, "y", 45, None, "test=None"),
    Case("validation alone too large", lambda _: random_split(LABELS, 5, 50, None), SplitError, "y", 45, None, "ask for fewer"),
    Case("negative size", lambda _: random_split(LABELS, 5, -1), SplitError, "val", -1, None, "0 or more"),
    Case("no split file", lambda folder: Split.load(folder / "none.json"), SplitError, "none.json", None, None, "Split.save"),
    Case("unknown data set", lambda _: nw.load_dataset("coar"), UnknownNameError, "dataset", "coar", None, "did you mean 'cora'?"),
    Case("capital letters", lambda _: nw.load_dataset("Citeseer"), UnknownNameError, "dataset", "Citeseer", None, "did you mean 'citeseer'?"),
    Case("truncated raw file", raw("ind.mini.allx", lambda b: b[:-9]), RawFileError, "ind.mini.allx", ..., None, "delete it"),
    Case("altered raw file", raw("ind.mini.ty", lambda b: b[:-9] + b"!" + b[-8:]), RawFileError, "ind.mini.ty", ..., None, "delete it"),
    Case("empty raw file", raw("ind.mini.graph", lambda _: b""), RawFileError, "ind.mini.graph", ..., None, "delete it"),
    Case("hostile raw file", hostile, RawFileError, "ind.cora.x", "posix.system", None, "delete the file"),
    Case("half a pickle", lambda _: loads("a.x", pickle.dumps([1, 2], 2)[:-2]), RawFileError, "a.x", ..., None, "fetch it again"),
    Case("unreadable raw file", unreadable, RawFileError, "ind.mini.x", None, None, "readable file"),
    Case("raw file nowhere to be had", missing, RawFileError, "ind.mini.ty", None, None, "http://127.0.0.1:9/ind.mini.ty"),
]
# fmt: on


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bad_input(case: Case, tmp_path: Path) -> None:
    with pytest.raises(NodewiseError) as caught:
        case.run(tmp_path)
    error = caught.value
    assert type(error) is case.error
    assert Path(error.field).name == case.field and error.field in str(error)
    assert case.way_out in error.way_out and error.way_out in str(error)
    assert error.position == case.position
    assert case.value is ... or repr(error.value) == repr(case.value)  # repr: NaN equals itself
    assert error.value is None or repr(error.value) in str(error)


def test_the_table_is_long_enough_and_covers_the_family() -> None:
    assert len(CASES) >= 25
    assert {case.error for case in CASES} == {
        GraphError,
        SplitError,
        RawFileError,
        UnknownNameError,
    }


@pytest.mark.parametrize("x", [X, sparse(X)], ids=["dense", "csr"])
def test_a_sound_graph_passes(x: torch.Tensor) -> None:
    names = {"feature_names": ["a", "b", "c"], "class_names": ["d", "e"]}
    given = Data(x=x, edge_index=EDGES, y=Y, **names)
    check_data(given)
    given.train_mask, given.val_mask, given.test_mask = NODE[0], NODE[1], NODE[2]
    check_data(given)


def test_what_is_not_wrong() -> None:
    check_graph(X, torch.tensor([[0, 0, 0], [0, 1, 1]]))  # self-loops, repeats, no labels
    check_split(NODE[0], NONE, NONE, num_nodes=4)  # nobody has to validate or to test


def test_labels_that_could_not_be_counted() -> None:
    with pytest.raises(GraphError, match=r"y\[3\]: .*below 4"):
        check_graph(
            torch.eye(4), torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([0, 1, 0, 10**13])
        )
