"""Fit the coefficients of the model of collectives to TRUTH: robust least squares of logarithms, with tight priors.

The priors are NCCL's own: the latencies by which it chooses a protocol, and the share of a link's nominal rate that it
counts on. Few machines are public, and some reach a tenth of others' rate; so each (device, collective, ranks) has
the same weight, however many sizes it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.fitting.optimise import least_squares, robust
from estimator.model.coefficients import shipped
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.collectives import collective_times
from estimator.model.kernels.collectives import messages_of
from estimator.model.links import links_of

if TYPE_CHECKING:
    import pandas as pd

PRIORS = {  # coefficient: its median, and the standard deviation of its logarithm
    "latency": (1.0, 0.3), "steps": (1.0, 0.3), "ll_share": (0.25, 0.3), "fabric": (0.80, 0.1), "pcie": (0.70, 0.15),
    "one_shot_s": (4.5e-6, 0.3),
}  # fmt: skip
SHARES = ("ll_share", "fabric", "pcie")
LINKS = ("fabric", "pcie")
ROW_NOISE = 0.25  # standard deviation of a row's logarithm
GROUP = ["device", "library", "operator", "ranks"]
EVALUATIONS = 40
SOURCE = (
    "aiconfigurator's collectives (ai-dynamo/aiconfigurator, Apache-2.0); priors of NCCL (NVIDIA/nccl, "
    "src/graph/tuning.cc and topo.h); python -m estimator.fitting.ship"
)


def fit(truth: pd.DataFrame) -> CollectiveCoefficients:
    """Fit the coefficients to the collectives of TRUTH; without any they are the priors."""
    rows = truth[truth["op_class"] == "collective"]
    median, spread = np.array(list(PRIORS.values())).T
    if rows.empty:
        return _with(np.log(median))
    by_device = [(load_device(str(name)), rows.iloc[places]) for name, places in rows.groupby("device").indices.items()]
    arguments = [(messages_of(part, device), links_of(device)) for device, part in by_device]
    ordered = [part for _, part in by_device]
    measured = np.log(np.concatenate([part["time_s"].to_numpy(dtype=float) for part in ordered]))
    weights = np.concatenate([_weights(part) for part in ordered])

    def residuals(logs: Floats) -> Floats:
        coefficients = _with(logs)
        times = [collective_times(*argument, coefficients).total_s for argument in arguments]
        off = robust((np.log(np.concatenate(times)) - measured) / ROW_NOISE) * weights
        return np.concatenate([off, (logs - np.log(median)) / spread])

    return _with(least_squares(residuals, np.log(median), evaluations=EVALUATIONS))


def _weights(rows: pd.DataFrame) -> Floats:
    return np.asarray(1.0 / np.sqrt(rows.groupby(GROUP)["time_s"].transform("size")), dtype=float)


def _with(logs: Floats) -> CollectiveCoefficients:
    """The shipped coefficients with the fitted ones from their logarithms; no share exceeds 1."""
    values = {name: float(value) for name, value in zip(PRIORS, np.exp(logs), strict=True)}
    values |= {name: min(values[name], 1.0) for name in SHARES}
    known = shipped().collectives
    links = known.efficiencies | {name: values.pop(name) for name in LINKS}
    return known.model_copy(update={**values, "efficiencies": links, "source": SOURCE})
