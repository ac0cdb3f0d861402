"""A recipe: all settings with which a model is built and trained, as data in a TOML file.

A file has a table `defaults`, and tables `models.M`, `datasets.D` and `models.M.datasets.D` with
the settings that differ there. All keys share one namespace, so that `--set KEY=VALUE` is enough.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from nodewise.checked import checked
from nodewise.errors import RecipeError, UnknownNameError
from nodewise.io import file_bytes, parse_toml
from nodewise.models.architecture import Architecture
from nodewise.models.zoo import find_row
from nodewise.nn.penalty import Penalty
from nodewise.training.batching import Batching, fanout_text
from nodewise.training.early_stopping import StoppingRule

Settings = dict[str, Any]


@dataclass(frozen=True)
class Optimization:
    """How weights are optimized.

    Attributes:
        features: How a node's features are normalized: "row-sum" to a sum of one, "unit" to length
            one, "none" not at all.
        loss_reduction: Whether cross-entropy is summed over the training nodes or their mean.
        class_weight: "balanced" weighs training nodes in the cross-entropy so that every class
            counts the same, "none" does not.
        optimizer: The optimizer.
        learning_rate: Its learning rate.
        consistency: Weight of the loss that draws predictions under several dropout masks to their
            mean, on all nodes (GRAND); 0 leaves it out.
        samples: How many masks.
        temperature: How far that mean is sharpened: below one, it is.
        calibration: "temperature" divides the logits of the trained model by one number, the best
            for the cross-entropy of validation nodes; "none" leaves them.
    """

    features: Literal["none", "row-sum", "unit"] = "row-sum"
    loss_reduction: Literal["mean", "sum"] = "mean"
    class_weight: Literal["none", "balanced"] = "none"
    optimizer: Literal["adam"] = "adam"
    learning_rate: float = 0.005
    consistency: float = 0.0
    samples: int = 2
    temperature: float = 0.5
    calibration: Literal["none", "temperature"] = "none"


_GROUPS: dict[str, type] = {
    "architecture": Architecture,
    "penalty": Penalty,
    "optimization": Optimization,
    "stopping": StoppingRule,
    "batching": Batching,
}
# Keys and values that had another name in older releases: files and records still contain them.
_RENAMED_KEYS = {"max_neighbours": "max_neighbors"}
_RENAMED_VALUES = {("normalization", "own"): "default"}
_RATE = (0.0, 0.999)
_BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("hidden_channels", "heads", "epochs", "patience", "samples", "batch_size"), (1, 10**9)
    ),
    **dict.fromkeys(
        (
            "input_dropout",
            "weight_dropout",
            "message_dropout",
            "attention_dropout",
            "node_dropout",
        ),
        _RATE,
    ),
    "feature_dropout": (-1.0, 0.999),
    **dict.fromkeys(("hops", "bottleneck", "num_layers"), (0, 10**9)),
    "consistency": (0.0, 1e6),
    "temperature": (0.01, 1.0),
    **dict.fromkeys(("lambda_global", "lambda_local", "lambda_modulation"), (0.0, 1e12)),
    "generator_row_sum": (0.0, 1e6),
    "learning_rate": (1e-12, 1e3),
    "max_neighbors": (0, 10**9),
    "start_record_epoch": (-1, 10**9),
}


@cache
def known_keys() -> dict[str, Any]:
    """Every key of a recipe with its type."""
    return {key: hint for group in _GROUPS.values() for key, hint in get_type_hints(group).items()}


@dataclass(frozen=True)
class Recipe:
    """One value for each key: a recipe for a known model and data set.

    Attributes:
        name: The recipe's name.
        architecture: How the model is built.
        penalty: What is added to the loss.
        optimization: How weights are optimized.
        stopping: Which epoch is kept.
        batching: On what part of a graph a step computes.
    """

    name: str
    architecture: Architecture
    penalty: Penalty
    optimization: Optimization
    stopping: StoppingRule
    batching: Batching = field(default_factory=Batching)

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """A recipe from its settings; keys that are left out have their defaults."""
        checked = check_settings(settings, f"recipe {name!r}")
        groups = {
            group: kind(**{f.name: checked[f.name] for f in fields(kind) if f.name in checked})
            for group, kind in _GROUPS.items()
        }
        return cls(name, **groups)

    @property
    def settings(self) -> Settings:
        """All keys and their values, as `config.toml` has them.

        Those of mini-batches are left out where they have their defaults, as in the records of
        older releases.
        """
        usual = asdict(Batching())
        return {k: v for k, v in self.every_setting.items() if usual.get(k, ()) != v}

    @property
    def every_setting(self) -> Settings:
        """All keys and their values."""
        groups = (getattr(self, name) for name in _GROUPS)
        return {key: value for group in groups for key, value in asdict(group).items()}


def current_settings(settings: Mapping[str, Any]) -> Settings:
    """The settings under the names that this release uses."""
    renamed = {_RENAMED_KEYS.get(key, key): value for key, value in settings.items()}
    known = {key: value for key, value in renamed.items() if isinstance(value, str)}
    return renamed | {k: _RENAMED_VALUES.get((k, v), v) for k, v in known.items()}


def default_settings() -> Settings:
    """The default of every key."""
    return Recipe.from_settings("defaults", {}).every_setting


def load_recipe(
    recipe: str | Path | Recipe,
    model: str | None,
    dataset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    graph_settings: Mapping[str, Any] | None = None,
) -> Recipe:
    """A recipe for one model on one data set.

    Later settings win: `graph_settings`, the recipe's defaults, the tables of its model, of its
    data set and of both, those of the model's row in the zoo (such as its width), and `settings`.

    Args:
        recipe: "paper", "official", "nodewise", or the path of a TOML file; a `Recipe` only takes
            the `settings`.
        model: A name of the zoo, or None for the user's model.
        dataset: A data set's name, or None for a graph without one.
        settings: Keys that the caller sets.
        graph_settings: Keys that the graph decides unless another layer sets them, such as the
            metric.

    Raises:
        RecipeError: A key or a value is not known; the error names the nearest.
        UnknownNameError: There is no such recipe or model.
    """
    if isinstance(recipe, Recipe):
        checked = check_settings(settings or {}, "settings")
        return Recipe.from_settings(recipe.name, {**recipe.settings, **checked})
    path = recipe_path(recipe)
    content = _read(path)
    family: str | None = None
    defaults: Mapping[str, Any] = {}
    of_row: Mapping[str, Any] = {}
    if model is not None:
        row = find_row(model)
        family, defaults, of_row = row.family, row.defaults, row.settings
    of_model = content.get("models", {}).get(family, {})
    layers = (
        graph_settings or {},
        defaults,
        content.get("defaults", {}),
        {key: value for key, value in of_model.items() if key != "datasets"},
        content.get("datasets", {}).get(dataset, {}),
        of_model.get("datasets", {}).get(dataset, {}),
        of_row,
        check_settings(settings or {}, "settings"),
    )
    merged = {key: value for layer in layers for key, value in layer.items()}
    return Recipe.from_settings(path.stem, merged)


def recipe_names() -> list[str]:
    """The recipes that come with nodewise."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def parse_settings(pairs: Iterable[str]) -> Settings:
    """`KEY=VALUE` strings as the command line has them; values are TOML, or else strings.

    `True` and `False` may also be written as in Python.

    Raises:
        RecipeError: There is no `=`, or key or value are not known.
    """
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise RecipeError("--set", "needs KEY=VALUE", value=pair, way_out="write KEY=VALUE")
        settings[key.strip()] = _parse(value.strip())
    return check_settings(settings, "--set")


def format_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings as `KEY=VALUE` strings that `parse_settings` reads."""
    # JSON writes the numbers and truth values of TOML; strings need no quotes.
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    ]


def check_settings(settings: Mapping[str, Any], where: str) -> Settings:
    """The settings under their current names, integers as floats where the key is a float.

    Raises:
        RecipeError: A key is not known, or a value has the wrong type or is out of range.
    """
    settings = current_settings(settings)
    for key in settings:
        if key not in known_keys():
            raise UnknownKeyError(where, key)
    return {key: _checked(key, value, where) for key, value in settings.items()}


class UnknownKeyError(RecipeError, UnknownNameError):
    """A recipe has an unknown key."""

    def __init__(self, where: str, key: str) -> None:
        UnknownNameError.__init__(self, f"{where}, key", key, known_keys())


def _checked(key: str, value: Any, where: str) -> Any:
    hint = known_keys()[key]
    if key == "fanout":
        value = fanout_text(value)
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            _refuse(where, key, value, f"one of {', '.join(map(repr, get_args(hint)))}")
        return value
    number = hint in (int, float) and isinstance(value, int) and not isinstance(value, bool)
    if not (number or (isinstance(value, hint) and (hint is bool or not isinstance(value, bool)))):
        _refuse(where, key, value, {int: "a whole number", float: "a number"}.get(hint, hint))
    low, high = _BOUNDS.get(key, (value, value))
    if not low <= value <= high:
        _refuse(where, key, value, f"between {low:g} and {high:g}")
    return hint(value)


def _refuse(where: str, key: str, value: Any, wanted: Any) -> None:
    wanted = {bool: "true or false", str: "a string"}.get(wanted, wanted)
    raise RecipeError(
        f"{where}, {key}", "cannot have this value", value=value, way_out=f"give {wanted}"
    )


def _parse(value: str) -> Any:
    value = {"True": "true", "False": "false"}.get(value, value)
    try:
        return parse_toml(f"value = {value}".encode("utf-8", "replace"))["value"]
    except ValueError:
        return value


def _folder() -> Path:
    return Path(str(files("nodewise.training") / "recipes"))


def recipe_path(recipe: str | Path, also: Sequence[str] = ()) -> Path:
    """Where a recipe's file is.

    Args:
        recipe: Its name, or the path of a TOML file.
        also: Other names that the caller accepts, for the error.

    Raises:
        UnknownNameError: There is no such recipe.
    """
    if str(recipe) in recipe_names():
        return _folder() / f"{recipe}.toml"
    if Path(recipe).suffix == ".toml":
        return Path(recipe)
    raise UnknownNameError("recipe", str(recipe), (*recipe_names(), *also))


def _read(path: Path) -> dict[str, Any]:
    """A recipe file whose tables and keys are all known."""
    try:
        content = checked(dict[str, Any], parse_toml(file_bytes(path)))
        models, datasets = _tables(content, "models"), _tables(content, "datasets")
        of_both = [_tables(models[name], "datasets", f"models.{name}.") for name in models]
        defaults = checked(dict[str, Any], content.get("defaults", {}), "defaults")
    except (OSError, ValueError) as error:
        raise RecipeError(
            str(path), f"cannot be read ({error})", way_out="name a TOML file with a recipe"
        ) from error
    for table in content:
        if table not in ("description", "defaults", "models", "datasets"):
            raise UnknownNameError(f"{path.name}, table", table, ("defaults", "models", "datasets"))
    of_models = [{k: v for k, v in t.items() if k != "datasets"} for t in models.values()]
    in_models = [table for tables in of_both for table in tables.values()]
    for settings in (defaults, *datasets.values(), *of_models, *in_models):
        check_settings(settings, path.name)
    return content


def _tables(content: Mapping[str, Any], name: str, place: str = "") -> dict[str, dict[str, Any]]:
    """The tables within a table; none where it is not there.

    Raises:
        ValueError: It has anything else.
    """
    return checked(dict[str, dict[str, Any]], content.get(name, {}), f"{place}{name}")
