from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn import Linear

from nodewise.errors import InputError
from nodewise.models.embedding import embed
from nodewise.models.layerwise import Outputs
from nodewise.runs import export
from nodewise.runs.export import check_table_path, write_outputs
from tests.training.tasks import small_task


def in_one_part(logits: torch.Tensor, rows: torch.Tensor | None = None) -> list[Outputs]:
    return [Outputs(range(len(logits)), logits, rows)]


def test_predictions_have_ids_classes_and_six_digits(tmp_path: Path) -> None:
    logits = torch.tensor([[0.0, 1.0], [20.0, 0.0]])
    for name in ("p.csv", "p.parquet"):
        names = lambda start, stop: ["ä b", "c,d"][start:stop]  # noqa: E731
        write_outputs(in_one_part(logits), names, ["ant", "bee"], tmp_path / name)
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
    rows, names = torch.rand(3, 2), lambda start, stop: ["a", "b", "c"][start:stop]
    for name in ("rows.parquet", "rows.csv"):
        outputs = in_one_part(torch.zeros(3, 1), rows)
        write_outputs(outputs, names, ["x"], tmp_path / "p.csv", tmp_path / name)
    for table in (pd.read_parquet(tmp_path / "rows.parquet"), pd.read_csv(tmp_path / "rows.csv")):
        assert table["id"].tolist() == ["a", "b", "c"]
        assert torch.equal(torch.tensor(table[["e0", "e1"]].to_numpy()).float(), rows)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        write_outputs([], names, ["x"], tmp_path / "p.csv", tmp_path / "rows.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "rows.csv", "p.csv"}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_parts_of_any_size_make_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    logits = torch.randn(7, 2)
    paths = [tmp_path / f"{name}.{ending}" for name in "abc"]
    write_outputs(in_one_part(logits), range, ["x", "y"], paths[0])
    parts = [Outputs(range(i, j), logits[i:j]) for i, j in ((0, 1), (1, 1), (1, 6), (6, 7))]
    write_outputs(iter(parts), range, ["x", "y"], paths[1])
    monkeypatch.setattr(export, "_AT_ONCE", 2)
    write_outputs(in_one_part(logits), range, ["x", "y"], paths[2])
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    tables = [read(path) for path in paths]
    assert len(tables[0]) == 7 and tables[0]["id"].tolist() == [*range(7)]
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
    assert tables[0].dtypes.equals(tables[2].dtypes)


def test_what_fails_in_the_middle_leaves_the_table_from_before(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("from before")

    def outputs() -> Iterator[Outputs]:
        yield Outputs(range(1), torch.zeros(1, 2))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_outputs(outputs(), range, ["x", "y"], path, tmp_path / "e.parquet")
    assert path.read_text() == "from before" and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", ["t.txt", "t", ".", "t.csv.gz"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"--out: must be a CSV or a Parquet file"):
        check_table_path("--out", Path(name))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_names_are_no_formulas_where_that_is_asked_for(tmp_path: Path, start: str) -> None:
    logits, ids = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), [f"{start}cmd|' /C calc'!A0", -3]
    for path, asked in ((tmp_path / "plain.csv", False), (tmp_path / "safe.csv", True)):
        outputs = in_one_part(logits, -logits)
        tables = (path, path.with_suffix(".e.csv"))
        write_outputs(outputs, lambda a, b: ids[a:b], [f"{start}a", "b"], *tables, asked)
        apostrophe = "'" if asked else ""
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert table["id"].tolist() == [apostrophe + str(ids[0]), "-3"]
        assert table["prediction"].tolist() == ["b", f"{apostrophe}{start}a"]
        embeddings = pd.read_csv(path.with_suffix(".e.csv"), dtype=str, keep_default_na=False)
        assert embeddings["id"][0] == apostrophe + str(ids[0])
        assert embeddings["e1"][0] == "-1.0"
