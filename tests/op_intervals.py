"""How often the 90 % intervals of kernels hold: python tests/op_intervals.py DIR

DIR is a folder of public data sets, as 'estimator validate --data DIR' takes it. Coefficients are fitted without the
family of the judged device, and nothing of it is measured. Only what no fit moves, kernel_priors.yaml, was set by eye
on some of these rows. The launch is that of the program that timed the kernels, which is known.
"""

import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.interval import bounds
from estimator.core.schema import MEASUREMENTS, WORK
from estimator.core.types import Floats, RunPlan, Sourced, itemsizes
from estimator.devices import load_device
from estimator.fitting import fitted_model
from estimator.model import SourceRun, TargetDevice, coefficients, predict
from estimator.model.coefficients import Coefficients
from estimator.validation import arguments
from estimator.validation.data import read_truth
from estimator.validation.protocol import worth_judging

GROUP = ["data_set", "device", "op_class", "operator"]
ROWS, DRAWS = 200, 200  # of each group, at most; of the uncertain inputs
UNMEASURED = MEASUREMENTS.empty()


def held(
    truth: pd.DataFrame, fitted_without: Callable[[str], Coefficients], families: Collection[str] = ()
) -> pd.DataFrame:
    """Judged kernels by GROUP and family, of some families or all; whether each lies below or above its interval."""
    kernels = truth[(truth["op_class"] != "collective") & worth_judging(truth)]
    return pd.concat(
        of_family(kernels[kernels["family"] == family], fitted_without(family))
        for family in families or sorted(set(kernels["family"]))
    )


def of_family(rows: pd.DataFrame, fitted: Coefficients) -> pd.DataFrame:
    with coefficients.replaced(fitted):
        return pd.concat(list(judged(rows)))


def judged(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    drawn = rows.sample(frac=1.0, random_state=0).groupby(GROUP).head(ROWS)
    launch_s = pd.Series(arguments.latencies(drawn), index=drawn.index)
    for _, group in drawn.groupby([*GROUP, launch_s]):
        low, _, high = bounds(samples(group, float(launch_s[group.index[0]])))
        time_s = group["time_s"].to_numpy(dtype=float)
        yield group[[*GROUP, "family"]].assign(below=time_s < low, above=time_s > high)


def samples(rows: pd.DataFrame, launch_s: float) -> Floats:
    """Samples of the times of kernels of one device [s]."""
    launch = Sourced(value=launch_s, unit="s", status="assumed", source="the program that timed the kernels")
    device = load_device(str(rows["device"].iloc[0])).model_copy(update={"launch_latency": launch})
    ops = with_amounts(rows).assign(op=rows["operator"], calls=1.0, time_s=0.0)
    work = WORK.conform(ops[[name for name in WORK.names() if name in ops]], "kernels")
    return predict(work, SourceRun(), TargetDevice(device, UNMEASURED), RunPlan(device.name, draws=DRAWS)).samples


def with_amounts(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with FLOP and bytes of convolutions."""
    if (rows["op_class"] != "convolution").any():
        return rows
    shape = ConvShape.from_table(rows)
    return rows.assign(flop=shape.flop(), bytes=shape.bytes(itemsizes(rows["precision"])))


def table(actual: pd.DataFrame) -> pd.DataFrame:
    """By operator: kernels, and the per cent of them that intervals hold, with equal weight for each device."""
    outside = actual.groupby([*GROUP[2:], "device"])[["below", "above"]].mean()
    mean = 100 * outside.groupby(level=GROUP[2:]).mean()
    mean.insert(0, "held", 100 - mean["below"] - mean["above"])
    mean.insert(0, "kernels", actual.groupby(GROUP[2:]).size())
    return mean.round(1)


if __name__ == "__main__":
    public, _ = read_truth(Path(sys.argv[1]))
    print(table(held(public, lambda family: fitted_model.fit(public[public["family"] != family]))).to_string())
