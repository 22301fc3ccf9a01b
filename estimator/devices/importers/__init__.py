"""Any table of measured times → one CSV of MEASUREMENTS: one module per foreign format, tried in order of READERS."""

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
from estimator.devices.importers.columns import joined
from estimator.devices.importers.declared import Declared, first_line
from estimator.devices.measurements.conditions import Conditions
from estimator.devices.measurements.survey import NOTHING, survey, total
from estimator.devices.measurements.suspicious_rows import SuspiciousRows
from estimator.devices.measurements.tables import check_rows
from estimator.devices.specs.catalogue import source_device

# The modules that read one format each, in the order of trial, imported when a file gets that far. A reader has FORMAT,
# recognises(head of the file), and read(path, what the user said, what takes a sentence), which gives frames of text
# and numbers in the columns of MEASUREMENTS; a row that cannot be used says why in `left_out`, `versions` belong to the
# library, and `attrs["where"]` names the part of the file. TAKES_TOPOLOGY marks the one that needs a second file.
READERS = ("deepbench_sheet", "scale_sim", "table_csv", "deepbench_log")
LITTLE = 0.02  # share of the peak; all products below it may be another device's
HEAD = 1 << 16  # what a reader recognises its format by [B]


@dataclass
class Imported:
    """What an import read: survey by op class and precision, conditions of each kind of row, sentences on the rest."""

    path: Path
    formats: list[str] = field(default_factory=list)
    devices: dict[str, DeviceSpec | None] = field(default_factory=dict)  # by the name that the rows give; None unknown
    nameless: bool = False  # whether a row names no device
    survey: pd.DataFrame = field(default_factory=pd.DataFrame)
    conditions: Conditions = field(default_factory=Conditions)
    odd: SuspiciousRows = field(default_factory=SuspiciousRows)
    notes: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        """The proper names of the devices that the rows name."""
        return sorted({spec.name if spec else name for name, spec in self.devices.items()})

    def tell(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


def import_measurements(
    paths: Sequence[Path], output: Path, said: Declared | None = None, *, keep_impossible: bool = False
) -> Imported:
    """Read files of any format and write their rows as one CSV of MEASUREMENTS, whole or not at all, in bounded memory.

    ``keep_impossible``: a product above the device's peak is flagged, not refused. Raises EstimatorError for files that
    no reader knows, and for all that :func:`~estimator.devices.measurements.tables.check_rows` and Conditions refuse.
    """
    said, found, surveys = (said or Declared()).checked(), Imported(output), [NOTHING]
    _refuse_own_input(paths, output)
    readers = {path: _reader_of(path) for path in paths}
    with files.writing(output) as file:
        _write(_rows(readers, said, found, surveys, keep_impossible), file)
        found.conditions.finish(str(output))
        found.survey = total(surveys)
        if not found.survey["rows"].sum():
            raise EstimatorError(f"{', '.join(map(str, paths))}: found no row with a time, expected at least one")
    _tell_doubts(found)
    return found


def _rows(
    readers: Mapping[Path, ModuleType],
    said: Declared,
    found: Imported,
    surveys: list[pd.DataFrame],
    keep_impossible: bool,
) -> Iterator[pd.DataFrame]:
    """The checked rows of every file, frame by frame; what is found on the way is kept."""
    for path, reader in readers.items():
        _refuse_topology(said, reader, path)
        found.formats += [reader.FORMAT] if reader.FORMAT not in found.formats else []
        for frame in reader.read(path, said, found.tell):
            where = str(frame.attrs.get("where", path))
            usable, left_out = _filled(frame, said, path, where)
            rows = with_operators(MEASUREMENTS.conform(usable, where))
            device = _device(rows, said, found, path)
            rows = check_rows(rows, device, where, keep_impossible=keep_impossible)
            found.conditions.add(rows, where)
            if device:
                found.odd.add(rows, device, where)
            surveys.append(survey(rows, device, left_out))
            yield rows.assign(device=device.name) if device else rows


def _reader_of(path: Path) -> ModuleType:
    with files.reading(path), path.open("rb") as file:
        head = file.read(HEAD)
    reader = next((name for name in READERS if _reader(name).recognises(head)), None)
    if reader is None:
        _refuse_near_misses(path, head)
        formats = "; ".join(_reader(name).FORMAT for name in READERS)
        raise EstimatorError(f"{path}: no reader knows this file; expected one of: {formats}")
    return _reader(reader)


def _refuse_near_misses(path: Path, head: bytes) -> None:
    """Raise EstimatorError for an empty file, and for tables that anything but commas separates."""
    if not head.strip() or _reader("table_csv").recognises(re.sub(rb"[;\t|]", b",", head)):
        csv_files.read_csv(path, first_line(head))


def _refuse_topology(said: Declared, reader: ModuleType, path: Path) -> None:
    if said.topology and not hasattr(reader, "TAKES_TOPOLOGY"):
        raise EstimatorError(
            f"{path}: found {reader.FORMAT}, which takes no --topology; leave it out, or import this file apart"
        )


def _reader(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def _filled(frame: pd.DataFrame, said: Declared, path: Path, where: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that can be used, with what the user said where they say nothing; and those left out.

    Raises EstimatorError where neither says the precision.
    """
    for name, value in (*said.columns().items(), ("source", path.name)):
        frame[name] = frame[name].fillna(value) if name in frame else value
    if "versions" in frame:
        frame["library"] = joined(frame.get("library"), frame.pop("versions"))
    unused = frame["left_out"].notna() if "left_out" in frame else pd.Series(False, index=frame.index)
    usable = frame[~unused].drop(columns="left_out", errors="ignore")
    silent = usable.reindex(columns=["precision"])["precision"].isna()
    if silent.any():
        row = silent.idxmax() + 1
        raise EstimatorError(f"{where}: row {row} says no precision; say --precision, such as fp16")
    return usable, frame[unused]


def _device(rows: pd.DataFrame, said: Declared, found: Imported, path: Path) -> DeviceSpec | None:
    """The one device of all rows so far, where it is known.

    Raises EstimatorError for rows of several, and where some rows name none: they would go unchecked.
    """
    found.nameless |= not said.device and bool(rows["device"].isna().any())
    own = {name.lower() for name in (said.device.name, *said.device.aliases)} if said.device else set()
    for name in (*([said.device.name] if said.device else []), *rows["device"].dropna().unique()):
        if name not in found.devices:
            found.devices[name] = said.device if name.lower() in own else source_device(name)
    distinct = found.names()
    if len(distinct) > 1:
        raise EstimatorError(
            f"{path}: found rows of '{distinct[0]}' and '{distinct[1]}', expected those of one device; split the file"
        )
    if distinct and found.nameless:
        raise EstimatorError(
            f"{path}: some rows name a device ('{distinct[0]}'), some do not; say --device, or name it in every row"
        )
    return next(iter(found.devices.values()), None)


def _write(frames: Iterator[pd.DataFrame], file: TextIO) -> None:
    """Write the columns that hold anything, in the schema's order, though only the last row tells which those are."""
    columns: list[str] = []
    even = True  # whether every row has all columns
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as body:
        for frame in frames:
            new = [name for name in MEASUREMENTS.names() if name not in columns and frame[name].notna().any()]
            even, columns = even and not (columns and new), [*columns, *new]
            frame.to_csv(body, columns=columns, header=False, index=False, lineterminator="\n")
        body.seek(0)
        order = [columns.index(name) for name in MEASUREMENTS.names() if name in columns]
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([columns[position] for position in order])
        if even:
            shutil.copyfileobj(body, file)
        for row in csv.reader(body):
            row += [""] * (len(columns) - len(row))
            writer.writerow([row[position] for position in order])


def _refuse_own_input(paths: Sequence[Path], output: Path) -> None:
    if output.exists() and any(path.exists() and output.samefile(path) for path in paths):
        raise EstimatorError(f"{output}: this is an input itself; choose another file")


def _tell_doubts(found: Imported) -> None:
    """Sentences on what could not be checked, and on times that look like those of another unit."""
    unknown = sorted(name for name, spec in found.devices.items() if spec is None)
    if unknown:
        found.tell(f"{unknown[0]} is not in the catalogue: times are not checked against its peak; --device FILE.yaml")
    elif not found.devices:
        found.tell("no device is named: times are not checked against its peak; --device names one")
    best = found.survey.loc[found.survey["op_class"].isin(MATRIX), "best_share"].max()
    if best < LITTLE:
        about = f"no product reaches more than {best:.1%} of the peak of {', '.join(found.names())}"
        found.tell(f"{about}; if the rows were not measured on it, what is predicted by them is wrong")
    rows = found.conditions
    for sentence in (*found.odd.sentences(), *rows.repeats(str(found.path)), *rows.apart(str(found.path))):
        found.tell(sentence)
