from __future__ import annotations

import pickle

from nodewise.errors import RunError, UnknownNameError


def test_errors_travel_between_processes() -> None:
    for error in (
        RunError("runs/x", "is in use", value=3, position=2, way_out="wait"),
        UnknownNameError("model", "LGCNN", ["LGCN", "GCN"]),
    ):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert vars(back) == vars(error)
