"""By which evidence the ops of real dumps are predicted: python tests/rungs_of_dumps.py FOLDER [TARGET]

FOLDER has dumps and a ``manifest.csv`` with the columns ``file``, ``name``, ``refusal`` and ``device``. Where a dump
does not say which device it is of, that of the manifest is the source; ``~`` before it says that it is a near one.
Printed for each dump: the share of the source's device time that is modelled, proportional and unchanged; and how many
ops whose counted work exceeds the source's peak or bandwidth are not proportional, which must be none; they follow, one
a line.
"""

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import HOST_CLASSES, MATRIX, on_processor
from estimator.core.types import DeviceSpec, Estimate, Floats, RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile

TARGET = "b200-sxm"  # on which no dump was recorded
TRANSFORM_GAIN = 6.0  # FLOP of a direct convolution over those of its best transform
CACHE_SPEEDUP = 4.0
TOLERANCE = 1.1


def device_time(actual: Estimate) -> pd.Series:
    """The source's time by method, of the ops that a device ran [s]."""
    ops = actual.prediction.ops
    on_host = ops["op_class"].isin(HOST_CLASSES) | (on_processor(ops) & not_a_processor(actual.source))
    return ops[~on_host].groupby("method")["time_s"].sum()


def not_a_processor(source: DeviceSpec | None) -> bool:
    return source is None or not source.is_processor


def impossible(actual: Estimate) -> pd.DataFrame:
    """Ops above the source's highest peak, or its bandwidth and cache, that are not proportional."""
    source, ops = actual.source, actual.prediction.ops
    if source is None:
        return ops.iloc[:0]
    own = ops[(ops["time_s"] > 0) & (ops["method"] != "proportional") & ~on_processor(ops)]
    time_s = own["time_s"] + 1e-6 * own["calls"].fillna(1.0)
    gain = np.where(own["op_class"] == "convolution", TRANSFORM_GAIN, 1.0)
    rate = own["flop"].where(own["op_class"].isin(MATRIX)) / time_s / gain
    cache_s = own["bytes"] / (CACHE_SPEEDUP * source.memory_bandwidth.value) if source.memory_bandwidth else 0.0
    return own[(rate > TOLERANCE * highest_peak(source)) | (cache_s > TOLERANCE * time_s)]


def highest_peak(device: DeviceSpec) -> float:
    """The highest peak of matrix products in any format of 16 bits or more [FLOP/s]."""
    rates: Floats = np.array(
        [peak.matrix.value for name, peak in device.peak.items() if peak.matrix and name[-1] != "8"]
    )
    return float(rates.max())


def estimate_dump(path: Path, target: str, device: str) -> Estimate:
    """A dump on the target, from its own device, or from that of the manifest where it names none."""
    profile = read_profile(path)
    actual = estimate(profile, RunPlan(target, draws=0))
    near = device.removeprefix("~")
    return actual if actual.source or not near else estimate(profile, RunPlan(target, source=near, draws=0))


def shares(actual: Estimate) -> dict[str, float]:
    """Share of the source's device time by evidence [%]."""
    time = device_time(actual)
    total = max(float(time.sum()), np.finfo(float).tiny)
    left = {name: 100 * float(time.get(name, 0.0)) / total for name in ("proportional", "unchanged")}
    return {"modelled": 100 - sum(left.values()), **left}


def show(name: str, actual: Estimate) -> None:
    """Print the line of a dump, and below it the ops that no device could have run."""
    wrong, source = impossible(actual), actual.source.name if actual.source else "unknown"
    numbers = "".join(f"{share:{width}.1f}" for share, width in zip(shares(actual).values(), (8, 13, 10), strict=True))
    print(f"{name:40} {source:18} {numbers} {len(wrong):10d}")
    for op, time_s, flop, moved in wrong[["op", "time_s", "flop", "bytes"]].itertuples(index=False):
        print(f"    {op}: {flop / time_s:.3g} FLOP/s, {moved / time_s:.3g} B/s")


def main() -> None:
    folder = Path(sys.argv[1])
    target = sys.argv[2] if len(sys.argv) > 2 else TARGET
    rows = list(csv.DictReader((folder / "manifest.csv").read_text(encoding="utf-8").splitlines()))
    print(f"to {target}: share of device time [%]")
    print(f"{'dump':40} {'source':18} modelled proportional unchanged impossible")
    for row in rows:
        if row["refusal"]:
            continue
        try:
            show(row["name"], estimate_dump(folder / row["file"], target, row.get("device", "")))
        except EstimatorError as error:
            print(f"{row['name']:40} {error}")


if __name__ == "__main__":
    main()
