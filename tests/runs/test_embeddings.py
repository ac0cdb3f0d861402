from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn import Linear

from nodewise.errors import InputError
from nodewise.runs.embeddings import embed, write_embeddings
from tests.training.tasks import small_task


def test_embeddings_are_what_the_last_layer_is_given() -> None:
    task = small_task()
    torch.manual_seed(0)
    model = task.engine().model.eval()
    rows = embed(model, *task.graph.inputs)
    last = list(model.convs)[-1]  # type: ignore[arg-type]
    logits = last(rows, task.graph.edge_index)
    if model.output_act is not None:
        logits = model.output_act(logits)  # type: ignore[operator]
    torch.testing.assert_close(logits, model(*task.graph.inputs))
    assert rows.shape == (60, 4)


def test_a_model_we_do_not_know_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="not known of this model"):
        embed(Linear(2, 2), torch.eye(2))


def test_the_table_keeps_ids_and_bits(tmp_path: Path) -> None:
    rows = torch.rand(3, 2)
    write_embeddings(tmp_path / "rows.parquet", ["a", "b", "c"], rows)
    table = pd.read_parquet(tmp_path / "rows.parquet")
    assert table["id"].tolist() == ["a", "b", "c"]
    assert torch.equal(torch.tensor(table[["e0", "e1"]].to_numpy()), rows)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        write_embeddings(tmp_path / "rows.txt", ["a"], rows)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
