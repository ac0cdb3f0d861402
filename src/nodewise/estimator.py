"""`NodeClassifier`: a graph in, labels out, with the manners of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor

from nodewise.data.checks import check_data, check_graph, check_split
from nodewise.data.drawn_splits import hold_out
from nodewise.data.fingerprints import graph_sha256
from nodewise.data.splits import Split
from nodewise.errors import RecipeError, SplitError
from nodewise.experiments.candidates import AUTO, CandidateSet, is_auto
from nodewise.experiments.selection import Selection, choose
from nodewise.runs.folder import RunFolder, open_run
from nodewise.runs.run import Factory, Task, Watch, train
from nodewise.runs.saved import SavedModel, load_run
from nodewise.training.loop import Epoch
from nodewise.training.recipe import Recipe, load_recipe, recipe_path

if TYPE_CHECKING:
    from torch_geometric.data import Data


class NodeClassifier(BaseEstimator):  # type: ignore[misc]
    """Trains a model on a graph and predicts the class of every node.

    Args:
        model: A name of the zoo, or a function that makes a model of your own from the numbers of
            features and classes; its `forward` takes (x, edge_index). None takes LGCN, or with the
            recipe "auto" the model that validation prefers.
        recipe: "paper", "official", "nodewise", the path of a TOML file, or "auto" to choose among
            a few on the validation nodes.
        random_state: The seed; None draws one.
        settings: Keys of the recipe to override, such as `{"hidden_channels": 16}`.
        verbose: Whether to print a line every hundred epochs.

    Attributes:
        classes_: The classes: names where the graph has them, else numbers.
        history_: A dictionary for every epoch.
        result_: The run's record.
        model_: The trained model.
        choice_: How the recipe "auto" chose, as `choice.json` has it: the candidates with their
            validation figures, and a `sentence` on whether localization helped. None for others.
    """

    def __init__(
        self,
        model: str | Factory | None = None,
        recipe: str | Path = "nodewise",
        random_state: int | None = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.random_state = random_state
        self.settings = settings
        self.verbose = verbose

    def fit(
        self,
        data: Data,
        train_index: ArrayLike | None = None,
        val_index: ArrayLike | None = None,
    ) -> Self:
        """Train.

        Args:
            data: A graph with `x`, `edge_index`, `y` (-1 for nodes without label), and masks unless
                `train_index` is given.
            train_index: The nodes to learn from, instead of `data.train_mask`.
            val_index: The nodes that choose the epoch; without them, and without `data.val_mask`, a
                fifth of the training nodes of each class is held out for that.

        Raises:
            GraphError: The graph cannot be used.
            SplitError: There are no nodes to learn from, or they have no labels.
        """
        check_data(data)
        split = _split(data, train_index, val_index)
        check_split(*split.masks(data.num_nodes), num_nodes=data.num_nodes, y=data.y)
        drawn = np.random.randint(2**31) if self.random_state is None else self.random_state
        if not is_auto(self.recipe):
            recipe_path(self.recipe, also=(AUTO,))
        learn = self._choose if is_auto(self.recipe) else self._train
        learn(data, split, int(drawn))
        self.n_features_in_ = int(data.x.size(1))
        return self

    def _train(self, data: Data, split: Split, seed: int) -> None:
        task = self._make_task(data, split)
        self.history_: list[Epoch] = []
        engine, self.result_, _ = train(task, seed, watch=Watch(self._note))
        self.model_, self._config = engine.model.eval(), task.config(seed)
        self.classes_ = _classes(task.class_names)
        self.choice_: dict[str, Any] | None = None

    def _choose(self, data: Data, split: Split, seed: int) -> None:
        """Choose a recipe in a folder that is gone afterwards, and keep its model."""
        if not (self.model is None or isinstance(self.model, str)):
            raise RecipeError(
                "recipe", "'auto' is for models of the zoo", way_out="name another recipe"
            )
        contest, known = CandidateSet.load().of_model(self.model), graph_sha256(data)

        def make(model: str, recipe: Recipe) -> Task:
            return Task(data, split, {}, model, recipe, known_sha256=known)

        with TemporaryDirectory() as folder:
            fixed = self.settings or {}
            question = Selection(Path(folder), make, seed, None, fixed, contest)
            choice = choose(question, self._show)
            self._take(load_run(choice.chosen.folder))
        self.choice_ = choice.record

    def predict(self, data: Data) -> NDArray[Any]:
        """The class of every node, as in `classes_`."""
        best = self.predict_proba(data).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, data: Data) -> NDArray[np.float32]:
        """The probability of every class for every node, shape (nodes, classes)."""
        self._check_fitted()
        check_graph(data.x, data.edge_index)
        return self._saved().logits(data).softmax(1).cpu().numpy()

    def score(self, data: Data, index: ArrayLike | None = None) -> float:
        """The accuracy on `index`, or on `data.test_mask`.

        Raises:
            SplitError: There is neither.
        """
        if index is None and "test_mask" not in data:
            way_out = "say which nodes: score(data, index)"
            raise SplitError("test_mask", "is not there, and no index either", way_out=way_out)
        nodes = np.asarray(data.test_mask.nonzero().view(-1) if index is None else index)
        right = self.predict_proba(data).argmax(1) == data.y.numpy()
        return float(right[nodes].mean())

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, as `nodewise train` does.

        Raises:
            RunError: The folder holds another run, or cannot be written.
        """
        self._check_fitted()
        with open_run(Path(folder), self._config) as run:
            run.forget_history()
            for line in self.history_:
                run.record(line)
            run.finish(self.model_.state_dict(), self.result_)

    @classmethod
    def load(cls, folder: str | Path, model: Factory | None = None) -> Self:
        """A fitted classifier from a folder that `save` or `nodewise train` wrote.

        Args:
            folder: The folder.
            model: The function that made the model, if it is not one of the zoo.

        Raises:
            RunError: A file is missing, damaged, or of another model.
        """
        saved = load_run(Path(folder), model)
        config = saved.config
        made = cls(model or config["model"], config["recipe"], config["seed"], config["settings"])
        made._take(saved)
        made.choice_ = None
        return made

    def _take(self, saved: SavedModel) -> None:
        """Be what a run has become."""
        self.model_, self.result_, self._config = saved.model, saved.result, saved.config
        self.history_ = RunFolder(saved.folder).history
        self.classes_ = _classes(saved.class_names)

    def _make_task(self, data: Data, split: Split) -> Task:
        if self.model is None or isinstance(self.model, str):
            name = self.model or "LGCN"
            recipe = load_recipe(self.recipe, name, None, self.settings)
            return Task(data, split, {}, name, recipe)
        recipe = load_recipe(self.recipe, None, None, self.settings)
        name = f"{self.model.__module__}.{self.model.__qualname__}"
        return Task(data, split, {}, name, recipe, self.model)

    def _saved(self) -> SavedModel:
        return SavedModel.of(Path("this classifier"), self._config, self.result_, self.model_)

    def _note(self, line: Epoch) -> None:
        self.history_.append(line)
        if self.verbose and line["epoch"] % 100 == 0:
            print({name: round(value, 4) for name, value in line.items()})

    def _show(self, what: str, done: int, total: int) -> None:
        if self.verbose and done % 100 == 0:
            print(f"{what}, {done} of {total} epochs")

    def _check_fitted(self) -> None:
        if "model_" not in vars(self):
            raise NotFittedError("this NodeClassifier is not fitted yet; call fit(data) first")


def _classes(names: list[str]) -> NDArray[Any]:
    """Numbers where the names are 0, 1, 2, ..., else the names."""
    numbers = [str(k) for k in range(len(names))]
    return np.arange(len(names)) if names == numbers else np.array(names)


def _split(data: Data, train_index: ArrayLike | None, val_index: ArrayLike | None) -> Split:
    train = _nodes(data, "train_mask", train_index)
    if train.numel() == 0:
        raise SplitError(
            "train_mask", "selects no node", way_out="give train_index or data.train_mask"
        )
    # A graph's own validation and test nodes go with its own training nodes only.
    own = data if train_index is None else {}
    val, test = _nodes(own, "val_mask", val_index), _nodes(own, "test_mask", None)
    if val.numel() == 0:
        return hold_out(train, data.y, test)
    return Split(train.numpy(), val.numpy(), test.numpy())


def _nodes(data: Any, mask: str, index: ArrayLike | None) -> Tensor:
    if index is not None:
        chosen = torch.as_tensor(index)
        return chosen.nonzero().view(-1) if chosen.dtype == torch.bool else chosen.long()
    found = data.get(mask)
    return torch.empty(0, dtype=torch.int64) if found is None else found.nonzero().view(-1)
