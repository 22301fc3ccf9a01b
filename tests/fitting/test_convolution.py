"""The fit of the convolution model gives back what rows were made of."""

import itertools

import numpy as np
import pandas as pd
import pytest

from estimator.fitting import convolution
from estimator.fitting.convolution import _model, fit, peaks, sample
from estimator.model.convolution_passes import PASSES
from estimator.model.sustained import Sustained
from tests.validation.public import truth

SUSTAINED = Sustained(share=0.95, vector_need=1e-12, tensor_need=1e-12, halving=4.0)
TWINS = ("v100-sxm2-16gb", "v100-pcie-16gb")
DEVICES = ("gtx-1080-ti", "v100-sxm2-16gb", "p100-pcie-16gb")
SHAPES = tuple(
    itertools.product(PASSES, (8, 32), ((64, 56, 64), (3, 224, 64), (256, 14, 512)), ((1, 0), (3, 1), (5, 2)))
)


def timed(*devices: str) -> pd.DataFrame:
    """Convolutions of each device as slow as the fit's own start has them."""
    made = truth(
        *(
            {
                "device": device, "data_set": "deepbench-conv-fp32", "op_class": "convolution", "pass": made,
                "conv_n": n, "conv_c": c, "conv_h": size, "conv_w": size, "conv_k": k, "conv_r": side, "conv_s": side,
                "pad_h": pad, "pad_w": pad, "stride_h": 1, "stride_w": 1,
            }
            for device in devices
            for made, n, (c, size, k), (side, pad) in SHAPES
        )
    )  # fmt: skip
    launch, busy = _model(made, peaks(made, made, SUSTAINED))(convolution._coefficients_from_logs(START))
    return made.assign(time_s=launch + busy)


def is_slow_shape(made: pd.DataFrame) -> pd.Series:
    """Whether a convolution is forward, of a shape of its own."""
    name = "pass" if "pass" in made else "direction"
    return (made["conv_c"] == 256) & (made["conv_r"] == 1) & (made[name] == "forward")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """On one device all take twice as long, on all devices one shape half as long again."""
    made = timed(*DEVICES)
    slower = np.where(made["device"] == DEVICES[2], 2.0, 1.0) * np.where(is_slow_shape(made), 1.5, 1.0)
    return made.assign(time_s=made["time_s"] * slower)


START = np.log([median for median, _, _ in convolution.PRIORS.values()])


@pytest.mark.slow
def test_the_fit_gives_back_the_times_it_was_made_of(rows: pd.DataFrame) -> None:
    c = fit(rows, SUSTAINED)
    seen = sample(rows)
    fast = seen[seen["device"] != DEVICES[2]]
    launch, busy = _model(fast, peaks(fast, rows, SUSTAINED))(c)
    ratio = (launch + busy) / fast["time_s"].to_numpy()
    assert np.median(np.abs(np.log(ratio) - np.median(np.log(ratio)))) < 0.05


@pytest.mark.slow
def test_what_all_devices_do_with_a_shape_is_noted(rows: pd.DataFrame) -> None:
    published = pd.DataFrame(fit(rows, SUSTAINED).published)
    is_slow = is_slow_shape(published)
    assert (published["families"] == len(DEVICES)).all()
    assert published.loc[is_slow, "log_residual"].mean() > published.loc[~is_slow, "log_residual"].mean() + 0.1


def test_families_count_equally_in_a_shape() -> None:
    """Two devices of one take as much longer for it as that of the other takes less."""
    made = timed(*TWINS, DEVICES[0])
    longer = np.where(made["device"].isin(TWINS), 0.3, -0.3) * is_slow_shape(made)
    published = pd.DataFrame(fit(made.assign(time_s=made["time_s"] * np.exp(longer)), SUSTAINED).published)
    assert published.loc[is_slow_shape(published), "log_residual"].mean() == pytest.approx(0, abs=0.05)
    assert (published["families"] == 2).all()


def test_without_convolutions_the_priors_remain(rows: pd.DataFrame) -> None:
    actual = fit(rows.iloc[:0], SUSTAINED)
    assert actual.start == pytest.approx(convolution.PRIORS["start"][0])
    assert not actual.published
