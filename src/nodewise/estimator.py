"""`NodeClassifier`: a graph in, labels out, as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nodewise.bound_graph import BoundGraph, check_labeled, graph_classes
from nodewise.data.checks import check_data, check_graph
from nodewise.data.node_index import node_index
from nodewise.errors import InputError, SplitError, UnknownNameError
from nodewise.experiments.auto.selection import choose_into
from nodewise.experiments.train_request import AutoOptions, TrainRequest
from nodewise.runs.folder import RunFolder
from nodewise.runs.interrupts import asking_to_stop
from nodewise.runs.open_run import open_run
from nodewise.runs.progress import RunProgress, choosing_progress, epoch_progress
from nodewise.runs.run import Callbacks, train, train_in
from nodewise.runs.saved import SavedRun, load_run
from nodewise.runs.task import Factory, Task
from nodewise.training.loop import Epoch
from nodewise.training.recipe import Recipe, known_keys
from nodewise.workflow import InMemoryTasks, split_of_graph

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from torch_geometric.data import Data

Seed = int | np.random.RandomState | np.random.Generator | None


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains a model on a graph and predicts the class of each node.

    It takes its samples in one of two forms. Where `X` is a graph, `fit(data)` trains on the nodes
    of `data.train_mask` and `predict(data)` answers for all nodes. Bound to a graph,
    `NodeClassifier(graph=data)`, it takes node numbers as `X`, whole numbers of shape (n,) or
    (n, 1), and any labels as `y`, so that `cross_val_score`, `GridSearchCV` and `Pipeline` work:

        clf = NodeClassifier("LGCN", graph=data)
        nodes = data.train_mask.nonzero().view(-1).numpy()
        search = GridSearchCV(clf, {"lambda_local": [1e-5, 1e-4]}).fit(nodes, data.y[nodes].numpy())

    All nodes and edges of the graph pass messages, but only the nodes in `X` have labels. One in
    five of them, of each class, is held out for early stopping: the same `X` gives the same nodes.

    Every key of the recipe is a parameter as well: `set_params(lambda_local=1e-4)` is the same as
    that key in `settings`, and `get_params()` contains the keys that are set.

    Args:
        model: A name of the zoo, or a function that builds the user's model from the numbers of
            features and classes; its `forward` takes (x, edge_index). None is LGCN, or with the
            recipe "auto" the model that validation prefers.
        recipe: "paper", "official", "nodewise", the path of a TOML file, a `Recipe`, or "auto" to
            choose among a few on the validation nodes.
        random_state: The seed, or a random generator that draws one for each `fit`; None draws
            from NumPy's.
        settings: Keys of the recipe to override, such as `{"hidden_channels": 16}`.
        verbose: Whether to show the progress: a bar on a terminal, elsewhere a line every few
            seconds.
        graph: The graph whose nodes are the samples; `clone` shares it and does not copy it.
        budget: The time that the recipe "auto" may take, such as "90s" or "5m". None is 100 seconds
            on a graph of fewer than 5,000 nodes and 100,000 edges, and 270 on others.
        refit: Whether a model that "auto" chose is trained once more, on validation nodes too.
        metric: What stopping maximizes on validation nodes: "accuracy", "balanced_accuracy",
            "macro_f", "roc_auc", "average_precision" or "log_loss"; None leaves it to the recipe.
        class_weight: "balanced" lets every class count the same in the loss, "none" does not; None
            leaves it to the recipe.

    Attributes:
        classes_: The classes: sorted labels, or those of the graph, names where it has them.
        n_features_in_: The number of features of the graph, or 1 for node numbers.
        history_: A dictionary for each epoch.
        result_: The run's record.
        model_: The trained model.
        choice_: The content of `choice.json` with the recipe "auto": the candidates with their
            validation scores, and `sentences` on what was chosen and what localization and the
            graph brought. None for others.
    """

    def __init__(
        self,
        model: str | Factory | None = None,
        recipe: str | Path | Recipe = "nodewise",
        random_state: Seed = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
        graph: Data | None = None,
        budget: str | None = None,
        refit: bool = True,
        metric: str | None = None,
        class_weight: str | None = None,
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.random_state = random_state
        self.settings = settings
        self.verbose = verbose
        self.graph = graph
        self.budget = budget
        self.refit = refit
        self.metric = metric
        self.class_weight = class_weight

    def fit(
        self,
        X: Data | ArrayLike,
        y: ArrayLike | None = None,
        *,
        train_index: ArrayLike | None = None,
        val_index: ArrayLike | None = None,
    ) -> Self:
        """Train. Ctrl-C ends it early, and the best model so far is kept.

        A graph without masks is split as `nodewise train` splits tables.

        Args:
            X: A graph with `x`, `edge_index`, `y` (-1 for unlabeled nodes), perhaps with masks;
                or numbers of nodes of the bound graph.
            y: The labels of these nodes; None takes those of the bound graph.
            train_index: The training nodes of a graph, instead of `train_mask`.
            val_index: The nodes that choose the epoch, instead of `val_mask`, or some nodes of `X`.
                Without them, a fifth of the training nodes of each class is held out.

        Raises:
            GraphError: The graph is malformed.
            InputError: A node number is not whole or not in the graph, or labels do not fit.
            SplitError: There are no training nodes, or they have no labels.
        """
        bound = self._bound_to(X)
        if bound is not None:
            _refuse("train_index", train_index, "leave it out: X contains the training nodes")
            data, split, classes = bound.training_graph(X, y, val_index)
        else:
            check_data(X)
            _refuse("y", y, "leave it out: the graph has labels; choose nodes with train_index=")
            data, split = X, split_of_graph(X, train_index, val_index)
            classes = graph_classes(data)
        auto, seed = AutoOptions(self.budget, workers=1, refit=self.refit), _seed(self.random_state)
        request = TrainRequest(self.model, self.recipe, self._keys(), seed, auto=auto)
        tasks = InMemoryTasks(data, split, request.build)
        if request.is_auto:
            self._choose(request, tasks)
        else:
            self._train(request, tasks)
        self.classes_ = classes
        self.n_features_in_ = int(data.x.size(1)) if bound is None else 1
        return self

    def _keys(self) -> dict[str, Any]:
        """The keys of the recipe that are set."""
        given = {"metric": self.metric, "class_weight": self.class_weight}
        named = {key: value for key, value in given.items() if value is not None}
        return {**(self.settings or {}), **named}

    def _train(self, request: TrainRequest, tasks: InMemoryTasks) -> None:
        task, seed = request.task(tasks), request.seed
        self.history_: list[Epoch] = []
        # Ctrl-C ends training, and the best epoch is kept.
        with asking_to_stop() as enough, self._showing(task) as show:

            def epoch(line: Epoch) -> None:
                self.history_.append(line)
                show.epoch(line)

            callbacks = Callbacks(epoch, enough=enough, nodes=show.nodes)
            engine, self.result_, _ = train(task, seed, callbacks=callbacks)
        self.model_, self._config = engine.model.eval(), task.config(seed)
        self.choice_: dict[str, Any] | None = None

    def _choose(self, request: TrainRequest, tasks: InMemoryTasks) -> None:
        """Choose a recipe in a temporary folder, and keep the chosen model."""
        with TemporaryDirectory() as folder, asking_to_stop() as enough:
            run, quiet = Path(folder) / "run", not self.verbose
            selection = tasks.selection(request, Path(folder))
            # Ctrl-C ends choosing, and the best model so far is kept.
            with choosing_progress(selection.budget, quiet, lines=True) as show:
                choice, task = choose_into(run, selection, show, enough=enough)
            with self._showing(task) as show:
                callbacks = Callbacks(show.epoch, stop=enough, nodes=show.nodes)
                record = train_in(run, task, request.seed, callbacks)
            # Some epochs on all labels are worse than all epochs on most of them.
            if record["interrupted"]:
                choice.trial.finish()
            self._load(load_run(choice.trial.folder if record["interrupted"] else run))
        self.choice_ = choice.record
        if self.verbose:
            print(*choice.record["sentences"], sep="\n")

    def _showing(self, task: Task) -> AbstractContextManager[RunProgress]:
        """Shows the epochs of a run, if that is wanted: as a bar, or as lines."""
        return epoch_progress(task.model, task.rule, not self.verbose, lines=True)

    def predict(self, X: Data | ArrayLike) -> NDArray[Any]:
        """The class of each node of a graph, or of the nodes in `X`, shape (n,)."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Data | ArrayLike) -> NDArray[np.float32]:
        """The probability of each class, shape (n, classes), in the order of `classes_`.

        Args:
            X: A graph, for all its nodes; or numbers of nodes of the bound graph.
        """
        run = self.as_run()
        bound = self._bound_to(X)
        if bound is not None:
            nodes = bound.nodes(X)
            return run.predict_proba(bound.unlabeled)[nodes]
        data: Any = X
        check_graph(data.x, data.edge_index)
        return run.predict_proba(data)

    def as_run(self) -> SavedRun:
        """The fitted model with its configuration and its record, as `nodewise.load_run` has them.

        Raises:
            NotFittedError: `fit` was not called.
        """
        check_is_fitted(self, "model_")
        return SavedRun.of(Path("this classifier"), self._config, self.result_, self.model_)

    def score(
        self,
        X: Data | ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        index: ArrayLike | None = None,
    ) -> float:
        """The accuracy.

        Args:
            X: A graph with labels; or numbers of nodes of the bound graph.
            y: The labels of these nodes; None takes those of the bound graph.
            sample_weight: A weight for each sample.
            index: The nodes of a graph to score, instead of `test_mask`.

        Raises:
            InputError: A node number is not whole or not in the graph, or a node has no label.
            SplitError: The graph has no `test_mask`, and there is no `index`.
        """
        bound, predicted = self._bound_to(X), self.predict(X)
        if bound is not None:
            _refuse("index", index, "leave it out: X contains the nodes to score")
            truth = bound.labels(bound.nodes(X)) if y is None else y
        else:
            _refuse("y", y, "leave it out: the graph has labels; choose nodes with index=")
            data: Any = X
            nodes = _scored_nodes(data, index)
            truth, predicted = self.classes_[data.y.cpu().numpy()[nodes]], predicted[nodes]
        return float(accuracy_score(truth, predicted, sample_weight=sample_weight))

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, as `nodewise train` does. Labels are saved by their names.

        Raises:
            RunError: The folder holds another run, or cannot be written.
        """
        check_is_fitted(self, "model_")
        with open_run(Path(folder), self._config) as run:
            run.forget_history()
            for line in self.history_:
                run.record(line)
            run.finish(self.model_.state_dict(), self.result_)

    @classmethod
    def load(
        cls, folder: str | Path, model: Factory | None = None, graph: Data | None = None
    ) -> Self:
        """A fitted classifier from a folder that `save` or `nodewise train` wrote.

        Args:
            folder: The folder.
            model: The function that built the user's model; None for a model of the zoo.
            graph: A graph to bind.

        Raises:
            RunError: A file is missing, damaged, or of another model.
        """
        run = load_run(folder, model)
        config = run.config
        classifier = cls(
            model=model or config["model"],
            recipe=config["recipe"],
            random_state=config["seed"],
            settings=config["settings"],
            graph=graph,
        )
        classifier._load(run)
        classifier.classes_, classifier.choice_ = run.classes, None
        classifier.n_features_in_ = int(config["graph"]["features"])
        return classifier

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by their names, with `deep` also the keys of the recipe that are set."""
        params: dict[str, Any] = super().get_params(deep=False)
        # Values are checked by `fit`, as scikit-learn wants it; here settings may be anything.
        keys = self.settings if deep and isinstance(self.settings, Mapping) else {}
        return {**params, **keys}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or keys of the recipe, which go to `settings`.

        Raises:
            UnknownNameError: There is no such parameter or key; the error names the nearest.
        """
        names = super().get_params(deep=False).keys()
        for name in params:
            if name not in names and name not in known_keys():
                raise UnknownNameError("parameter", name, (*names, *known_keys()))
        super().set_params(**{name: value for name, value in params.items() if name in names})
        keys = {name: value for name, value in params.items() if name not in names}
        if keys:
            self.settings = {**(self.settings or {}), **keys}
        return self

    def __sklearn_clone__(self) -> Self:
        # The graph is shared: scikit-learn would copy it for each fold and each candidate.
        unbound = copy(self)
        unbound.graph = None
        clone: Self = super(NodeClassifier, unbound).__sklearn_clone__()
        clone.graph = self.graph
        return clone

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        bound = self.graph is not None
        tags.target_tags.required = False  # a graph has labels
        tags.input_tags.two_d_array = tags.input_tags.one_d_array = bound
        tags.input_tags.categorical = bound
        return tags

    def _bound_to(self, X: Any) -> BoundGraph | None:
        """The bound graph, if X contains numbers of its nodes; None if X is a graph."""
        from torch_geometric.data import Data

        return None if self.graph is None or isinstance(X, Data) else BoundGraph(self.graph)

    def _load(self, run: SavedRun) -> None:
        """Take model, record and history of a finished run."""
        self.model_, self.result_, self._config = run.model, run.record, run.config
        self.history_ = RunFolder(run.folder).history


def _seed(random_state: Any) -> int:
    """The seed of a run: the number itself, or one that a generator draws."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise InputError(
            "random_state",
            "cannot be used as a seed",
            value=random_state,
            way_out="give a whole number, a RandomState, a Generator or None",
        ) from error


def _refuse(name: str, value: Any, way_out: str) -> None:
    """Check that an argument, which the other form of X takes, is not given."""
    if value is not None:
        raise InputError(name, "does not go with this X", way_out=way_out)


def _scored_nodes(data: Data, index: ArrayLike | None) -> NDArray[np.int64]:
    """The nodes of a graph to score."""
    if index is None and "test_mask" not in data:
        way_out = "choose the nodes: score(data, index=...)"
        raise SplitError("test_mask", "is missing, and there is no index", way_out=way_out)
    name, given = ("test_mask", data.test_mask) if index is None else ("index", index)
    nodes = node_index(name, given, int(data.num_nodes))
    if nodes.size == 0:
        raise InputError(name, "selects no node", way_out="choose the nodes to score")
    check_labeled(name, nodes, data.y.cpu().numpy()[nodes])
    return nodes
