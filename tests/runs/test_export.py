from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn import Linear

from nodewise.errors import InputError
from nodewise.runs.export import check_table_path, embed, write_embeddings, write_predictions
from tests.training.tasks import small_task


def test_predictions_have_ids_classes_and_six_digits(tmp_path: Path) -> None:
    logits = torch.tensor([[0.0, 1.0], [20.0, 0.0]])
    for name in ("p.csv", "p.parquet"):
        write_predictions(tmp_path / name, ["ä b", "c,d"], logits, ["ant", "bee"])
    lines = ["id,prediction,p_ant,p_bee", "ä b,bee,0.268941,0.731059", '"c,d",ant,1,2.06115e-09']
    assert (tmp_path / "p.csv").read_text("utf-8").splitlines() == lines
    table = pd.read_parquet(tmp_path / "p.parquet")
    assert table["prediction"].tolist() == ["bee", "ant"]
    assert torch.equal(torch.tensor(table[["p_ant", "p_bee"]].to_numpy()), logits.softmax(1))


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


def test_a_table_of_embeddings_keeps_ids_and_bits(tmp_path: Path) -> None:
    rows = torch.rand(3, 2)
    for name in ("rows.parquet", "rows.csv"):
        write_embeddings(tmp_path / name, ["a", "b", "c"], rows)
    for table in (pd.read_parquet(tmp_path / "rows.parquet"), pd.read_csv(tmp_path / "rows.csv")):
        assert table["id"].tolist() == ["a", "b", "c"]
        assert torch.equal(torch.tensor(table[["e0", "e1"]].to_numpy()).float(), rows)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        write_embeddings(tmp_path / "rows.txt", ["a"], rows)
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "rows.csv"}


@pytest.mark.parametrize("name", ["t.txt", "t", ".", "t.csv.gz"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"--out: must be a CSV or a Parquet file"):
        check_table_path("--out", Path(name))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_names_are_no_formulas_where_that_is_asked_for(tmp_path: Path, start: str) -> None:
    logits, ids = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), [f"{start}cmd|' /C calc'!A0", -3]
    for path, asked in ((tmp_path / "plain.csv", False), (tmp_path / "safe.csv", True)):
        write_predictions(path, ids, logits, [f"{start}a", "b"], asked)
        write_embeddings(path.with_suffix(".e.csv"), ids, -logits, asked)
        apostrophe = "'" if asked else ""
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert table["id"].tolist() == [apostrophe + str(ids[0]), "-3"]
        assert table["prediction"].tolist() == ["b", f"{apostrophe}{start}a"]
        embeddings = pd.read_csv(path.with_suffix(".e.csv"), dtype=str, keep_default_na=False)
        assert embeddings["id"][0] == apostrophe + str(ids[0])
        assert embeddings["e1"][0] == "-1.0"
