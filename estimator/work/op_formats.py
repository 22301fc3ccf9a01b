"""The number format of each op: what the dump states, what its kernel's name tells, else an assumed one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from estimator.core.notes import Note
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import Workload, itemsizes, stored_format
from estimator.work.edges import FORMATS
from estimator.work.operators.formats import precision_of

CAST_FORMATS = r"(?:^|;)from=(\w+);to=(\w+)"  # in the attributes of casts


def with_formats(work: pd.DataFrame, assumed: pd.Series) -> pd.DataFrame:
    """WORK with the formats that casts read and write, and the precision of each op, else the assumed one.

    A cast's is its wider format.
    """
    for name, formats in work["attributes"].str.extract(CAST_FORMATS).set_axis(FORMATS, axis=1).items():
        work[name] = work[name].fillna(formats)
    sizes = [itemsizes(work[name]) for name in FORMATS]
    wider = work[FORMATS[0]].where(sizes[0] >= sizes[1], work[FORMATS[1]]).where(~np.isnan(sizes[0] + sizes[1]))
    return work.assign(precision=wider.fillna(work["precision"]).fillna(assumed))


def assumed_formats(work: pd.DataFrame, workload: Workload) -> pd.Series:
    """The format of each op whose own nothing states.

    Products take the workload file's, and all other ops that in which such products leave their results.
    Where the file states none either, products take the one that others of their class have for most of their time. In
    a class that states none it is the one in which most of all products leave their results: a framework chooses TF32
    and fp8 by class.
    """
    products = work[work["op_class"].isin(MATRIX)]
    assumed = pd.Series(stored_format(workload.precision), index=work.index, dtype="string[python]")
    assumed[products.index] = workload.precision
    if "precision" in workload.model_fields_set:
        return assumed
    for _, rows in products.groupby("op_class"):
        stated = rows["precision"].notna() & (rows["time_s"] > 0)
        most = _format_of_most(rows if stated.any() else products) or workload.precision
        assumed[rows.index] = most if stated.any() else stored_format(most)
    return assumed


def _format_of_most(rows: pd.DataFrame) -> str | None:
    """The format that these ops state for more than half of the time of those that state any; None where none is."""
    time_s = rows["time_s"].groupby(rows["precision"]).sum()
    return next(iter(time_s.index[time_s > time_s.sum() / 2]), None)


def with_kernel_formats(work: pd.DataFrame) -> pd.DataFrame:
    """WORK with the precision that the kernel's name tells, where the dump states none."""
    by_name = {kernel: precision_of(kernel) for kernel in work["kernel"].dropna().unique()}
    precision = work["kernel"].map(by_name).astype("string[python]")
    return work.assign(precision=work["precision"].fillna(precision))


def unstated_precision_notes(work: pd.DataFrame, workload: Workload, assumed: pd.Series) -> tuple[Note, ...]:
    """A note on timed ops whose precision neither the dump nor a workload file tells; a warning on products."""
    unstated = work["precision"].isna() & (work["time_s"] > 0)
    rows = {
        "products": unstated & work["op_class"].isin(MATRIX),
        "memory-bound ops": unstated & work["op_class"].isin(STREAMING),
    }
    kinds = " and ".join(f"{int(each.sum())} {name}" for name, each in rows.items() if each.any())
    if not kinds or "precision" in workload.model_fields_set:
        return ()
    text = f"the dump states no precision for {kinds}: {_taken(assumed, rows)}; workload.yaml may state another"
    return (Note("precision-unstated", text) if rows["products"].any() else Note("precision-default", text),)


def _taken(assumed: pd.Series, rows: Mapping[str, pd.Series]) -> str:
    """The formats that rows of several kinds take, in words; by kind where they differ."""
    formats = {name: " and ".join(sorted(set(assumed[each]))) for name, each in rows.items() if each.any()}
    if len(set(formats.values())) == 1:
        (one,) = set(formats.values())
        return f"{one} {'are' if ' and ' in one else 'is'} taken"
    return " and ".join(f"{each} for {name}" for name, each in formats.items()) + " are taken"
