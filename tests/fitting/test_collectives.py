"""The fit of collectives finds what made the times, and falls back to the library's own numbers."""

import numpy as np
import pandas as pd
import pytest

from estimator.devices import load_device
from estimator.fitting import collectives
from estimator.fitting.collectives import PRIORS, fit
from estimator.model.coefficients import shipped
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.collectives import collective_times
from estimator.model.kernels.collectives import messages_of
from estimator.model.links import links_of
from tests.validation.public import truth

KNOWN = shipped().collectives
TRUE = KNOWN.model_copy(
    update={"latency": 1.3, "steps": 1.2, "ll_share": 0.3, "efficiencies": KNOWN.efficiencies | {"pcie": 0.6}}
)
DEVICES = ("a100-sxm4-80gb", "l40s")


def rows(coefficients: CollectiveCoefficients = TRUE) -> pd.DataFrame:
    """Collectives of two devices as these coefficients time them."""
    given = [
        {"device": device, "op": operator, "op_class": "collective", "precision": "fp16", "ranks": ranks, "bytes": size,
         "library": "nccl", "data_set": f"toy-{operator}", "time_s": 1.0}
        for device in DEVICES for operator in ("all_reduce", "all_gather") for ranks in (2, 4, 8)
        for size in 2.0 ** np.arange(10, 30, 2)
    ]  # fmt: skip
    actual = truth(*given)
    times = [
        pd.Series(collective_times(messages_of(part, device), links_of(device), coefficients).total_s, part.index)
        for name, part in actual.groupby("device")
        if (device := load_device(str(name)))
    ]
    return actual.assign(time_s=pd.concat(times))


def test_the_fit_finds_what_made_the_times() -> None:
    actual = fit(rows())
    assert actual.latency == pytest.approx(TRUE.latency, rel=0.1)
    assert actual.steps == pytest.approx(TRUE.steps, rel=0.1)
    for kind in ("pcie", "fabric"):  # tight priors: drawn from the library's own share to the true one
        (prior, _), true = PRIORS[kind], TRUE.efficiencies[kind]
        assert min(prior, true) < actual.efficiencies[kind] < max(prior, true)
    assert actual.efficiencies["rdma"] == KNOWN.efficiencies["rdma"]  # no row crosses nodes
    assert actual.source == collectives.SOURCE


def test_one_slow_machine_does_not_decide() -> None:
    """Sizes of one group are four times as slow: the others keep the fit."""
    actual = rows()
    odd = (actual["device"] == "l40s") & (actual["ranks"] == 8)
    assert fit(actual.assign(time_s=actual["time_s"].mask(odd, 4 * actual["time_s"]))).efficiencies[
        "pcie"
    ] == pytest.approx(0.6, rel=0.25)


def test_without_rows_the_librarys_own_numbers_remain() -> None:
    actual = fit(rows().iloc[:0])
    assert actual.latency == pytest.approx(PRIORS["latency"][0])
    assert actual.efficiencies["fabric"] == pytest.approx(PRIORS["fabric"][0])
