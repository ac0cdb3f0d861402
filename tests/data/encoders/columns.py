"""Small tables to encode."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nodewise.data.sources.source import SourceTable


def table(**columns: Any) -> SourceTable:
    return SourceTable("t", pd.DataFrame(columns), lambda row: f"row {row}")
