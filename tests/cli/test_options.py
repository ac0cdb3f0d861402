"""Options that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
import typer
from typer.testing import CliRunner

from nodewise.cli.options import check_device, option_of, set_threads_for, with_keys, with_options
from nodewise.errors import InputError


def test_a_command_receives_a_group_of_options_as_one_dictionary() -> None:
    found: dict[str, Any] = {}

    def command(group: dict[str, Any], name: str, quiet: bool = False) -> None:
        """Do something."""
        found.update(group=group, name=name, quiet=quiet)

    option = option_of("A panel")
    size = Annotated[int, option("--size", "How large.", min=1)]
    app = typer.Typer()
    app.command()(with_options(command, "group", {"size": (size, 3)}))
    assert CliRunner().invoke(app, ["x", "--size", "5", "--quiet"]).exit_code == 0
    assert found == {"group": {"size": 5}, "name": "x", "quiet": True}
    assert CliRunner().invoke(app, ["x"]).exit_code == 0 and found["group"] == {"size": 3}
    assert CliRunner().invoke(app, ["x", "--size", "0"]).exit_code == 2
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "A panel" in shown and "How large." in shown and "Do something." in shown


def test_options_that_are_keys_of_a_recipe_follow_the_settings() -> None:
    assert with_keys(["epochs=3"], metric="roc-auc", class_weight=None) == [
        "epochs=3",
        "metric=roc_auc",
    ]
    assert with_keys(None) == []


@pytest.mark.parametrize(
    ("edges", "named", "threads"), [(100, None, 1), (100, 2, 2), (100_000, None, 2)]
)
def test_a_small_graph_has_one_thread_unless_a_number_is_named(
    edges: int, named: int | None, threads: int
) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        set_threads_for(edges, named)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_a_device_that_is_not_there_is_one_clear_error() -> None:
    check_device("cpu")
    with pytest.raises(InputError, match=r"--device: cannot be used") as caught:
        check_device("nowhere")
    assert "\n" not in str(caught.value)
