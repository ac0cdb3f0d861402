from __future__ import annotations

from nodewise.training.engines.field import FieldEngine
from nodewise.training.engines.full_graph import FullGraphEngine
from nodewise.training.engines.make import make_engine
from nodewise.training.engines.once import OnceEngine
from tests.training.tasks import OwnModel, small_task


def test_every_kind_of_model_has_its_engine() -> None:
    task = small_task()
    assert isinstance(task.engine(), FieldEngine)
    assert isinstance(small_task("GCN-FiLM").engine(), FieldEngine)
    assert isinstance(small_task("DeepWalk").engine(), OnceEngine)
    assert isinstance(small_task("Planetoid").engine(), OnceEngine)
    assert isinstance(small_task("Boosting").engine(), OnceEngine)
    assert isinstance(small_task("PyG-GCN-64").engine(), FullGraphEngine)
    assert isinstance(make_engine(OwnModel(), task.graph, task.recipe), FullGraphEngine)
