"""What published shapes add to the convolution model."""

import numpy as np
import pandas as pd
import pytest

from estimator.model.calibration import KernelHyperparameters
from estimator.model.coefficients import shipped
from estimator.model.convolution_coefficients import PublishedShape
from estimator.model.convolution_passes import PASSES, conv_passes
from estimator.model.published_shapes import convolution_features, shape_correction, shipped_shapes
from tests.model.convolution_rows import row

SHIPPED = shipped().convolution


def test_a_published_shape_corrects_shapes_near_it() -> None:
    scales = SHIPPED.hyperparameters.scales
    hyperparameters = KernelHyperparameters(compute=0, memory=0, kind=0, shape=0.3, noise=0.01, scales=scales)
    known = PublishedShape(
        "forward", "vector", True, "fp32", 8, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, log_residual=0.4, families=4
    )
    coefficients = SHIPPED.model_copy(update={"hyperparameters": hyperparameters, "published": (known,)})
    rows = pd.concat([row(), row(conv_n=9), row(conv_n=512, conv_c=3, conv_h=224, conv_w=224, conv_r=7, conv_s=7)])
    tensor = np.zeros(3, bool)
    wanted = convolution_features(conv_passes(rows, tensor), tensor, np.ones(3, bool))
    same, near, far = shape_correction(wanted, coefficients)
    assert same == pytest.approx(0.4, rel=0.01)
    assert 0.2 < near < same
    assert abs(far) < 0.05
    assert not shape_correction(wanted, coefficients.model_copy(update={"published": ()})).any()


def test_the_shipped_shapes_are_named_once_and_lie_within_a_factor_of_two() -> None:
    table = shipped_shapes()
    assert not table.drop(columns=["log_residual", "families"]).duplicated().any()
    assert table["log_residual"].abs().max() < np.log(2)
    assert set(table["direction"]) == set(PASSES)
