import pytest
from pydantic import ValidationError

from estimator.model.convolution_coefficients import Shares


@pytest.mark.parametrize("share", [0.0, -0.5, 1.6])
def test_a_share_of_the_peak_that_no_kernel_attains_is_refused(share: float) -> None:
    with pytest.raises(ValidationError):
        Shares(forward=share, weights=0.5)
