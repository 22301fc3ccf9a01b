"""What fits share: the spreads of residuals are found again where residuals show them, and kept where they do not."""

import numpy as np
import pytest

from estimator.fitting.optimise import fit_hyperparameters
from estimator.model.calibration import KernelHyperparameters, OpFeatures, covariance

PRIOR = KernelHyperparameters(compute=0.2, memory=0.2, kind=0.1, shape=0.3, noise=0.03, scales=(2.0, 2.0))


@pytest.mark.slow
def test_spreads_that_residuals_show_are_fitted_and_others_are_the_priors() -> None:
    """Devices whose ops are all bound by compute tell nothing of memory."""
    rng, true = np.random.default_rng(0), PRIOR.model_copy(update={"shape": 0.6})
    ops = [
        OpFeatures(rng.uniform(0, 20, (60, 2)), np.ones(60), np.zeros(60, int), np.zeros(60, bool)) for _ in range(20)
    ]
    noise = true.noise**2 * np.eye(60)
    known = [(of, rng.multivariate_normal(np.zeros(60), covariance(of, of, true) + noise)) for of in ops]
    actual = fit_hyperparameters(known, PRIOR)
    assert actual.shape == pytest.approx(0.6, rel=0.2)
    assert actual.memory == pytest.approx(PRIOR.memory, rel=1e-3)
    assert actual.scales == PRIOR.scales
