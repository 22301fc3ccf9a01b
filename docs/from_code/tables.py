"""The tables that stages exchange, from ``core/schema.py``, and the vocabulary of operators."""

from __future__ import annotations

import math

from estimator.core import schema
from estimator.core.operators import COLUMNS
from estimator.core.operators import operators as vocabulary
from estimator.core.table import Table
from from_code.markdown import cell, code, table


def schema_tables() -> list[Table]:
    """Every table that ``core/schema.py`` declares."""
    return [value for value in vars(schema).values() if isinstance(value, Table)]


def schema_part(declared: Table) -> str:
    """One table: its columns as it documents them itself."""
    return f"## {declared.name}\n\n{declared.document()}"


def evidence() -> str:
    """The ladder of evidence that the column ``method`` names."""
    return table(["method", "how it gives a time"], [[code(n), cell(how)] for n, how in schema.METHODS.items()])


def all_tables() -> str:
    """All tables."""
    return "\n\n".join([*map(schema_part, schema_tables()), f"## Methods\n\n{evidence()}"])


def operators() -> str:
    """What each column of operators.csv means, and every operator."""
    meanings = ([code(name), cell(meaning)] for name, meaning in COLUMNS.items())
    return f"## Columns\n\n{table(['column', 'meaning'], meanings)}\n\n## All operators\n\n{_vocabulary()}"


def _vocabulary() -> str:
    rows = [[_shown(getattr(operator, name)) for name in COLUMNS] for operator in vocabulary().values()]
    return table([name.replace("_", " ") for name in COLUMNS], rows)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else ""
    return cell(value)
