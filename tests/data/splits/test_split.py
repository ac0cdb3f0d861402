from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from nodewise.data.splits.drawn import random_split
from nodewise.data.splits.split import Split
from nodewise.errors import SplitError

LABELS = np.arange(2000) % 4


def test_fewer_validation_nodes_leave_the_training_nodes_alone() -> None:
    many, few = random_split(LABELS, val=500), random_split(LABELS, val=100)
    assert np.array_equal(many.train, few.train)
    assert set(few.val) < set(many.val)


def test_sha256_is_over_the_documented_bytes() -> None:
    split = Split(np.array([3, 1]), np.array([0]), np.array([], np.int64))
    content = b"train" + struct.pack("<qqq", 2, 1, 3) + b"val" + struct.pack("<qq", 1, 0)
    content += b"test" + struct.pack("<q", 0)
    assert split.sha256() == hashlib.sha256(content).hexdigest()


def test_arrays_are_sorted_int64_and_read_only() -> None:
    split = Split(np.array([3, 1], np.int32), np.array([0]), np.array([2]))
    assert split.train.tolist() == [1, 3] and split.train.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 5


def test_masks_are_one_dimensional_and_lead_back() -> None:
    split = random_split(LABELS)
    data = split.apply(Data(x=torch.zeros(2000, 1)))
    assert data.train_mask.shape == data.val_mask.shape == data.test_mask.shape == (2000,)
    assert data.train_mask.dtype == torch.bool
    assert Split.from_masks(data.train_mask, data.val_mask, data.test_mask) == split


def test_save_and_load(tmp_path: Path) -> None:
    split = random_split(LABELS, test=None)
    split.save(tmp_path / "folder" / "split.json")
    loaded = Split.load(tmp_path / "folder" / "split.json")
    assert loaded == split and hash(loaded) == hash(split)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["split.json"]
    content = json.loads((tmp_path / "folder" / "split.json").read_text())
    assert content["val"] == split.val.tolist() and content["sha256"] == split.sha256()


@pytest.mark.parametrize(
    "content",
    ["", "[1]", '{"train": [1]}', '{"sha256": "0", "train": [1], "val": [2], "test": [3]}'],
)
def test_a_file_that_is_not_a_split(tmp_path: Path, content: str) -> None:
    (tmp_path / "split.json").write_text(content)
    with pytest.raises(SplitError) as caught:
        Split.load(tmp_path / "split.json")
    assert caught.value.field.endswith("split.json")


def test_repr_names_sizes_and_fingerprint() -> None:
    split = random_split(LABELS)
    assert repr(split) == f"Split(train=80, val=500, test=1000, sha256={split.sha256()[:12]})"


def test_fewer_validation_nodes_are_some_of_the_same() -> None:
    whole = Split(np.arange(5), np.arange(5, 25), np.arange(25, 30))
    fewer = whole.with_validation(7)
    assert len(fewer.val) == 7
    assert set(fewer.val) < set(whole.val)
    assert (fewer.train == whole.train).all() and (fewer.test == whole.test).all()
    with pytest.raises(SplitError, match="fewer"):
        whole.with_validation(21)
