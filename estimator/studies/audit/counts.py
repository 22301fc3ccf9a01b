"""Printed batch sizes and counts of parameters beside those of the profiled models."""

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
    """A printed count, and that of the profiled model: what the profile counts, and what the study file adds to it."""

    quantity: str
    printed: Printed
    profiled: int
    added: int = 0
    widths: tuple[int, ...] = ()  # of the dense layers that alone are in the printed count

    @property
    def whole(self) -> int:
        """Of the whole model."""
        return self.profiled + self.added

    @property
    def part(self) -> int:
        """Weights and biases of the dense layers alone."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(self.widths))


def check_counts(name: str, table: Table, profiles: Mapping[str, Profile]) -> Iterator[CheckedNumber]:
    """Every printed count beside that of the profiled model.

    Raises EstimatorError where a part is stated that does not have the printed count.
    """
    for row_name, row in table.rows.items():
        for count in _counts(row, profiles[row_name].workload):
            ours = _ours(pair_id((name, row_name, count.quantity)), count)
            with within(f"{name}: {row_name}"):
                mark, reason = mark_count(count)
            yield CheckedNumber(count.quantity, row_name, None, count.printed, ours, mark, reason, (ours,))


def _counts(row: Row, workload: Workload) -> Iterator[Count]:
    """The counts that are both printed and known of the profile."""
    if row.batch_size and workload.batch_size:
        yield Count("batch size", row.batch_size, workload.batch_size)
    if row.parameters and workload.parameters:
        yield Count("parameters", row.parameters, workload.parameters, row.untrained or 0, row.parameters_of)


def _ours(id: str, count: Count) -> Number:
    origin = "counted where the profile was taken"
    source = f"{origin}, and {count.added:,} of the study file" if count.added else origin
    return chain.given(id, count.quantity, count.whole, "1", "model", source)


def mark_count(count: Count) -> tuple[Mark, str | None]:
    """The mark of a printed count, and why. Raises EstimatorError where the stated part has another count."""
    layers = "-".join(map(str, count.widths))
    if count.widths and not count.part == count.printed.value != count.whole:
        raise EstimatorError(
            f"'parameters_of' says that {count.printed.text} counts the dense layers {layers} alone, which have "
            f"{count.part:,} of the model's {count.whole:,}; mend or delete it"
        )
    if count.widths:
        return "wrong part", f"the dense layers {layers} alone have {count.part:,}; the whole model has {count.whole:,}"
    if count.printed.value == count.whole:
        return "reproduced", f"{count.profiled:,} are trained, {count.added:,} are not" if count.added else None
    return "cannot be told", f"the profile has {count.whole:,}, and nothing here says what else was counted"
