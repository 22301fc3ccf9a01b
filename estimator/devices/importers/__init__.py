"""Import tables of measured times → one CSV of MEASUREMENTS; one module per foreign format."""

from __future__ import annotations

import csv
import importlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TextIO

import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.operators import with_operators
from estimator.core.schema import MATRIX, MEASUREMENTS
from estimator.core.types import DeviceSpec
from estimator.core.units import percent
from estimator.devices.importers.columns import join_text
from estimator.devices.importers.declared import Declared, first_line
from estimator.devices.measurements.conditions import Conditions
from estimator.devices.measurements.survey import EMPTY, survey, total
from estimator.devices.measurements.suspicious_rows import SuspiciousRows
from estimator.devices.measurements.tables import check_rows
from estimator.devices.specs.catalogue import source_device

# Modules that read one format each, in the order of trial; each is imported when it is tried. A reader has FORMAT,
# recognises(head of the file) and read(path, declared, add_note), which yields frames with the columns of MEASUREMENTS.
# `left_out` is the reason why a row cannot be used, `versions` belong to the library, and `attrs["where"]` names the
# part of the file. TAKES_TOPOLOGY marks the reader that needs a second file.
READERS = ("deepbench_sheet", "scale_sim", "table_csv", "deepbench_log")
SMALL_SHARE = 0.02  # of the peak; if no product reaches it, the rows may be another device's
HEAD_BYTES = 1 << 16  # length of the head by which a reader recognises its format


@dataclass
class Imported:
    """Result of an import: survey by op class and precision, conditions of each kind of row, notes."""

    path: Path
    formats: list[str] = field(default_factory=list)
    #: by the name in the rows; None: not in the catalogue
    devices: dict[str, DeviceSpec | None] = field(default_factory=dict)
    nameless: bool = False  # whether a row names no device
    survey: pd.DataFrame = field(default_factory=pd.DataFrame)
    conditions: Conditions = field(default_factory=Conditions)
    suspicious: SuspiciousRows = field(default_factory=SuspiciousRows)
    notes: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        """The catalogue's names of the devices that the rows name."""
        return sorted({spec.name if spec else name for name, spec in self.devices.items()})

    def add_note(self, sentence: str) -> None:
        """Add a note, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def import_measurements(
    paths: Sequence[Path], output: Path, declared: Declared | None = None, *, keep_impossible: bool = False
) -> Imported:
    """Read files of any format and write their rows as one CSV of MEASUREMENTS, whole or not at all, in bounded memory.

    ``keep_impossible``: a product above the device's peak is flagged, not refused. Raises EstimatorError for files that
    no reader knows, and for all that :func:`~estimator.devices.measurements.tables.check_rows` and Conditions refuse.
    """
    declared, result, surveys = (declared or Declared()).checked(), Imported(output), [EMPTY]
    _refuse_own_input(paths, output)
    readers = {path: _find_reader(path) for path in paths}
    with files.writing(output) as file:
        _write_csv(_rows(readers, declared, result, surveys, keep_impossible), file)
        result.conditions.finish(str(output))
        result.survey = total(surveys)
        if not result.survey["rows"].sum():
            raise EstimatorError(f"{', '.join(map(str, paths))}: found no row with a time, expected at least one")
    _add_check_notes(result)
    return result


def _rows(
    readers: Mapping[Path, ModuleType],
    declared: Declared,
    result: Imported,
    surveys: list[pd.DataFrame],
    keep_impossible: bool,
) -> Iterator[pd.DataFrame]:
    """Yield the checked rows of every file, frame by frame; add conditions, surveys and notes to the result."""
    for path, reader in readers.items():
        _refuse_topology(declared, reader, path)
        result.formats += [reader.FORMAT] if reader.FORMAT not in result.formats else []
        for frame in reader.read(path, declared, result.add_note):
            where = str(frame.attrs.get("where", path))
            usable, left_out = _with_declared(frame, declared, path, where)
            rows = with_operators(MEASUREMENTS.conform(usable, where))
            device = _known_device(rows, declared, result, path)
            rows = check_rows(rows, device, where, keep_impossible=keep_impossible)
            result.conditions.add(rows, where)
            if device:
                result.suspicious.add(rows, device, where)
            surveys.append(survey(rows, device, left_out))
            yield rows.assign(device=device.name) if device else rows


def _find_reader(path: Path) -> ModuleType:
    with files.reading(path), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    reader = next((name for name in READERS if _reader(name).recognises(head)), None)
    if reader is None:
        _refuse_other_separators(path, head)
        formats = "; ".join(_reader(name).FORMAT for name in READERS)
        raise EstimatorError(f"{path}: no reader knows this file; expected one of: {formats}")
    return _reader(reader)


def _refuse_other_separators(path: Path, head: bytes) -> None:
    """Raise EstimatorError for an empty file, and for tables that anything but commas separates."""
    if not head.strip() or _reader("table_csv").recognises(re.sub(rb"[;\t|]", b",", head)):
        next(csv_files.csv_frames(path, first_line(head)))


def _refuse_topology(declared: Declared, reader: ModuleType, path: Path) -> None:
    if declared.topology and not hasattr(reader, "TAKES_TOPOLOGY"):
        raise EstimatorError(
            f"{path}: found {reader.FORMAT}, which takes no --topology; leave it out, or import this file apart"
        )


def _reader(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def _with_declared(
    frame: pd.DataFrame, declared: Declared, path: Path, where: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the rows into usable ones, completed by the user's declarations, and those left out.

    Raises EstimatorError where neither states the precision.
    """
    for name, value in (*declared.columns().items(), ("source", path.name)):
        frame[name] = frame[name].fillna(value) if name in frame else value
    if "versions" in frame:
        frame["library"] = join_text(frame.get("library"), frame.pop("versions"))
    is_left_out = frame["left_out"].notna() if "left_out" in frame else pd.Series(False, index=frame.index)
    usable = frame[~is_left_out].drop(columns="left_out", errors="ignore")
    unstated = usable.reindex(columns=["precision"])["precision"].isna()
    if unstated.any():
        row = unstated.idxmax() + 1
        raise EstimatorError(f"{where}: row {row} says no precision; say --precision, such as fp16")
    return usable, frame[is_left_out]


def _known_device(rows: pd.DataFrame, declared: Declared, result: Imported, path: Path) -> DeviceSpec | None:
    """The one device of all rows so far; None where it is unknown.

    Raises EstimatorError for rows of several devices, and where only some rows name one.
    """
    result.nameless |= not declared.device and bool(rows["device"].isna().any())
    device = declared.device
    for name in (*([device.name] if device else []), *rows["device"].dropna().unique()):
        if name not in result.devices:
            result.devices[name] = device if device and device.is_called(name) else source_device(name)
    distinct = result.names()
    if len(distinct) > 1:
        raise EstimatorError(
            f"{path}: found rows of '{distinct[0]}' and '{distinct[1]}', expected those of one device; split the file"
        )
    if distinct and result.nameless:
        raise EstimatorError(
            f"{path}: some rows name a device ('{distinct[0]}'), some do not; say --device, or name it in every row"
        )
    return next(iter(result.devices.values()), None)


def _write_csv(frames: Iterator[pd.DataFrame], file: TextIO) -> None:
    """Write the columns that are not empty, in the schema's order; they are known only after the last row."""
    columns: list[str] = []
    is_even = True  # whether every row has all columns
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as body:
        for frame in frames:
            new_columns = [name for name in MEASUREMENTS.names() if name not in columns and frame[name].notna().any()]
            is_even, columns = is_even and not (columns and new_columns), [*columns, *new_columns]
            frame.to_csv(body, columns=columns, header=False, index=False, lineterminator="\n")
        body.seek(0)
        order = [columns.index(name) for name in MEASUREMENTS.names() if name in columns]
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([columns[position] for position in order])
        if is_even:
            shutil.copyfileobj(body, file)
        for row in csv.reader(body):
            row += [""] * (len(columns) - len(row))
            writer.writerow([row[position] for position in order])


def _refuse_own_input(paths: Sequence[Path], output: Path) -> None:
    if output.exists() and any(path.exists() and output.samefile(path) for path in paths):
        raise EstimatorError(f"{output}: this is an input itself; choose another file")


def _add_check_notes(result: Imported) -> None:
    """Add notes on what could not be checked, and on times that look wrong."""
    unknown = sorted(name for name, spec in result.devices.items() if spec is None)
    if unknown:
        result.add_note(
            f"{unknown[0]} is not in the catalogue: times are not checked against its peak; --device FILE.yaml"
        )
    elif not result.devices:
        result.add_note("no device is named: times are not checked against its peak; --device names one")
    best_share = result.survey.loc[result.survey["op_class"].isin(MATRIX), "best_share"].max()
    if best_share < SMALL_SHARE:
        sentence = f"no product reaches more than {percent(best_share)} of the peak of {', '.join(result.names())}"
        result.add_note(f"{sentence}; if the rows were not measured on it, what is predicted by them is wrong")
    conditions = result.conditions
    for note in (
        *result.suspicious.notes(),
        *conditions.repeat_notes(str(result.path)),
        *conditions.spread_notes(str(result.path)),
    ):
        result.add_note(note)
