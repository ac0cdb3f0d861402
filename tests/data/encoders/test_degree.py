from __future__ import annotations

from nodewise.data.encoders.degree import DEGREE, DegreeColumn
from tests.data.encoders.columns import table


def test_degrees_step_by_powers_of_two() -> None:
    degrees = table(**{DEGREE: [0, 1, 2, 3, 4, 5, 8, 9]})
    encoder = DegreeColumn.fit(degrees)
    names = [encoder.names[i] for i in encoder.encode(degrees).matrix.argmax(1)]
    assert [int(name.removeprefix("degree<=")) for name in names] == [0, 1, 2, 4, 4, 8, 8, 16]
