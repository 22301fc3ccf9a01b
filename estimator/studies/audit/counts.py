"""Check printed batch sizes and parameter counts against the profiled models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from estimator.core.errors import EstimatorError, within
from estimator.core.types import Number, Profile, Workload, pair_id
from estimator.rollup import chain
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Row, Table
from estimator.studies.audit.types import CheckedNumber, Mark


@dataclass(frozen=True)
class Count:
    """A printed count and the profiled model's: the profile's own count plus what the study file adds."""

    quantity: str
    printed: Printed
    profiled: int
    added: int = 0
    widths: tuple[int, ...] = ()  # of the dense layers, where the printed count is of these alone

    @property
    def total(self) -> int:
        """Count of the whole model."""
        return self.profiled + self.added

    @property
    def dense_total(self) -> int:
        """Weights and biases of the dense layers alone."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(self.widths))


def check_counts(name: str, table: Table, profiles: Mapping[str, Profile]) -> Iterator[CheckedNumber]:
    """Check every printed count against the profiled model.

    Raises EstimatorError where the stated dense layers do not have the printed count.
    """
    for row_name, row in table.rows.items():
        for count in _counts(row, profiles[row_name].workload):
            ours = _model_count(pair_id((name, row_name, count.quantity)), count)
            with within(f"{name}: {row_name}"):
                mark, reason = mark_count(count)
            yield CheckedNumber(count.quantity, row_name, None, count.printed, ours, mark, reason, (ours,))


def _counts(row: Row, workload: Workload) -> Iterator[Count]:
    """Counts that the table prints and the profile knows."""
    if row.batch_size and workload.batch_size:
        yield Count("batch size", row.batch_size, workload.batch_size)
    if row.parameters and workload.parameters:
        yield Count("parameters", row.parameters, workload.parameters, row.untrained or 0, row.parameters_of)


def _model_count(id: str, count: Count) -> Number:
    profiled_source = "counted where the profile was taken"
    source = f"{profiled_source}, and {count.added:,} of the study file" if count.added else profiled_source
    return chain.given(id, count.quantity, count.total, "1", "model", source)


def mark_count(count: Count) -> tuple[Mark, str | None]:
    """Mark a printed count, with the reason. Raises EstimatorError where the stated dense layers have another count."""
    layers = "-".join(map(str, count.widths))
    if count.widths and not count.dense_total == count.printed.value != count.total:
        raise EstimatorError(
            f"'parameters_of' says that {count.printed.text} counts the dense layers {layers} alone, which have "
            f"{count.dense_total:,} of the model's {count.total:,}; mend or delete it"
        )
    if count.widths:
        return "wrong part", (
            f"the dense layers {layers} alone have {count.dense_total:,}; the whole model has {count.total:,}"
        )
    if count.printed.value == count.total:
        return "reproduced", f"{count.profiled:,} are trained, {count.added:,} are not" if count.added else None
    return "cannot be told", f"the profile has {count.total:,}, and nothing here says what else was counted"
