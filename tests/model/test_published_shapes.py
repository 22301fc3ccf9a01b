"""What published shapes add to the convolution model."""

import numpy as np
import pandas as pd
import pytest

from estimator.model.calibration import Likeness
from estimator.model.coefficients import shipped
from estimator.model.convolution_coefficients import Published
from estimator.model.convolution_passes import PASSES, convolutions
from estimator.model.published_shapes import alike, shape_correction, shipped_shapes
from tests.model.convolution_rows import row

SHIPPED = shipped().convolution


def test_a_published_shape_tells_of_shapes_like_it() -> None:
    like = Likeness(compute=0, memory=0, kind=0, shape=0.3, noise=0.01, scales=SHIPPED.likeness.scales)
    told = Published(
        "forward", "vector", True, "fp32", 8, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, log_residual=0.4, families=4
    )
    c = SHIPPED.model_copy(update={"likeness": like, "published": (told,)})
    of = pd.concat([row(), row(conv_n=9), row(conv_n=512, conv_c=3, conv_h=224, conv_w=224, conv_r=7, conv_s=7)])
    wanted = alike(convolutions(of, np.zeros(3, bool)), np.zeros(3, bool), np.ones(3, bool))
    same, near, far = shape_correction(wanted, c)
    assert same == pytest.approx(0.4, rel=0.01)
    assert 0.2 < near < same
    assert abs(far) < 0.05
    assert not shape_correction(wanted, c.model_copy(update={"published": ()})).any()


def test_the_shipped_shapes_are_named_once_and_lie_within_a_factor_of_two() -> None:
    table = shipped_shapes()
    assert not table.drop(columns=["log_residual", "families"]).duplicated().any()
    assert table["log_residual"].abs().max() < np.log(2)
    assert set(table["made"]) == set(PASSES)
