"""From a graph in memory to a trained model: what `NodeClassifier` and `nodewise.train` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodewise.data.checks import check_data, check_split
from nodewise.data.fingerprints import graph_sha256
from nodewise.data.node_index import node_index
from nodewise.data.splits.drawn import hold_out, stratified_split
from nodewise.data.splits.split import Split
from nodewise.errors import GraphError, SplitError
from nodewise.experiments.auto.selection import Selection, choose_into
from nodewise.experiments.train_request import AutoOptions, TrainRequest
from nodewise.runs.interrupts import asking_to_stop
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import SavedRun, load_run
from nodewise.runs.seeds import seed_folder, train_seeds
from nodewise.runs.task import Factory, Task
from nodewise.training.engines.resources import Resources
from nodewise.training.loop import Epoch
from nodewise.training.metrics import default_metric
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch_geometric.data import Data

# What `config.toml` has in place of a data set or files; it also has the graph's SHA-256.
IN_MEMORY = {"source": "in memory"}


@dataclass(frozen=True)
class InMemoryTasks:
    """Makes tasks of one graph in memory.

    Attributes:
        data: The graph.
        split: Its split.
        build: Builds the user's model; None for models of the zoo.
    """

    data: Data
    split: Split
    build: Factory | None = None

    @cached_property
    def sha256(self) -> str:
        """The graph's fingerprint."""
        return graph_sha256(self.data)

    def __call__(self, model: str, recipe: Recipe) -> Task:
        """The task of training a model."""
        return Task(
            self.data,
            self.split,
            IN_MEMORY,
            model,
            recipe,
            build=self.build,
            known_sha256=self.sha256,
        )

    def selection(self, request: TrainRequest, folder: Path) -> Selection:
        """The choice that the recipe "auto" makes, by default by the metric that fits the labels.

        Args:
            request: What to train.
            folder: The folder for `choice.json` and the candidates' runs.
        """
        of_graph = {"metric": default_metric(self.data.y.cpu().numpy()).metric}
        return request.selection(self, self.data, folder, of_graph)


def train(
    data: Data,
    model: str | Factory | None = None,
    recipe: str | Path | Recipe = "nodewise",
    *,
    out: str | Path,
    seed: int = 0,
    runs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    budget: str | None = None,
    refit: bool = True,
    on_epoch: Callable[[Epoch], None] = lambda line: None,
    loader: Iterable[Any] | None = None,
    sampling_workers: int = 1,
) -> SavedRun:
    """Train a model on a graph in memory, and keep the run in a folder.

    A finished run is not trained again, and an interrupted one continues from its last checkpoint.
    On Ctrl-C the epoch is finished and saved, and the same call continues.

    Args:
        data: A graph with `x`, `edge_index`, `y` (-1 for unlabeled nodes) and `train_mask`. Without
            `val_mask`, a fifth of the training nodes of each class is held out for early stopping.
        model: A name of the zoo, or a function that builds the user's model from the numbers of
            features and classes. None is LGCN, or with the recipe "auto" the chosen model.
        recipe: "paper", "official", "nodewise", "auto", the path of a TOML file, or a `Recipe`.
        out: The folder of the run.
        seed: The (first) seed.
        runs: Train so many runs, with the seeds `seed`, `seed + 1`, ..., in `out/seed-S`.
        settings: Keys of the recipe to override, such as `{"hidden_channels": 16}`.
        budget: The time that the recipe "auto" may take, such as "90s" or "5m". None is 100 seconds
            on a graph of fewer than 5,000 nodes and 100,000 edges, and 270 on others.
        refit: Whether a model that "auto" chose is trained once more, on training and validation
            nodes.
        on_epoch: Called after each epoch with its line of history.
        loader: Batches of the training nodes, such as PyG's `NeighborLoader`, for each epoch; None
            samples them where the settings ask for mini-batches, `{"engine": "minibatch"}`. Only
            without a loader do equal runs have equal bits.
        sampling_workers: How many threads sample; results are the same.

    Returns:
        The run; of several, the one with the best validation accuracy.

    Raises:
        GraphError: The graph is malformed.
        SplitError: There are no training nodes, or they have no labels.
        RecipeError: A key or a value of the settings is not known.
        RunError: The folder holds another run, or another process works in it.
        KeyboardInterrupt: Ctrl-C was pressed; everything is saved.
    """
    check_data(data)
    split = split_of_graph(data)
    auto, folder = AutoOptions(budget, workers=1, refit=refit), Path(out)
    request = TrainRequest(model, recipe, settings or {}, seed, auto=auto)
    tasks = InMemoryTasks(data, split, request.build)
    with asking_to_stop() as stop:
        first = folder if runs is None else seed_folder(folder, seed)
        if request.is_auto:
            _, task = choose_into(first, tasks.selection(request, folder), stop=stop)
        else:
            resources = Resources(workers=sampling_workers, loader=loader)
            task = replace(request.task(tasks), resources=resources)
        callbacks = Callbacks(on_epoch, stop)
        if runs is None:
            record = train_in(folder, task, seed, callbacks)
        else:
            record = train_seeds(folder, task, range(seed, seed + runs), lambda _: callbacks)[-1]
    if record["interrupted"]:
        raise KeyboardInterrupt
    return load_run(folder, request.build)


def split_of_graph(
    data: Data, train_index: ArrayLike | None = None, val_index: ArrayLike | None = None
) -> Split:
    """The split that a graph's masks make, or node numbers in their place.

    Without validation nodes, a fifth of the training nodes of each class is held out; without
    training nodes a split is drawn, as `nodewise train` draws it for tables.

    Args:
        data: A checked graph.
        train_index: The training nodes, instead of `train_mask`. The graph's other masks are then
            left out, since they belong to its training nodes.
        val_index: The validation nodes, instead of `val_mask`.

    Raises:
        GraphError: The graph has no labels.
        InputError: An index has a number that is not a node.
        SplitError: There are no training nodes, or a node of the split has no label.
    """
    if "y" not in data:
        raise GraphError("y", "is missing", way_out="give labels, -1 to nodes without one")
    if train_index is None and "train_mask" not in data:
        _check_no_index(val_index)
        return stratified_split(data.y)
    masks = data if train_index is None else {}
    chosen = {"train_mask": train_index, "val_mask": val_index, "test_mask": None}
    nodes = {}
    for mask, index in chosen.items():
        name = mask if index is None else mask.replace("mask", "index")
        given = masks.get(mask) if index is None else index
        nodes[mask] = node_index(name, [] if given is None else given, int(data.num_nodes))
    if nodes["train_mask"].size == 0:
        raise SplitError(
            "train_mask", "selects no node", way_out="give train_index or data.train_mask"
        )
    train, val, test = nodes.values()
    split = Split(train, val, test) if val.size else hold_out(train, data.y, test)
    check_split(*split.masks(int(data.num_nodes)), num_nodes=int(data.num_nodes), y=data.y)
    return split


def _check_no_index(val_index: ArrayLike | None) -> None:
    """Check that no validation nodes are named where no training nodes are."""
    if val_index is not None:
        raise SplitError(
            "val_index",
            "is given without training nodes",
            way_out="give train_index or data.train_mask as well",
        )
