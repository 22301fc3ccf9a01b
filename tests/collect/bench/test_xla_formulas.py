"""What XLA compiles is what the operators of these names compute."""

import numpy as np
import pytest

from estimator.collect.bench.operators import KERNELS
from estimator.collect.bench.xla_formulas import FORMULAS


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_reads_and_writes_as_the_table_has_it(name: str) -> None:
    made = FORMULAS[name](*(np.full(4, 0.5) for _ in range(KERNELS[name].reads)))
    assert len(made if isinstance(made, tuple) else (made,)) == KERNELS[name].writes


def test_formulas() -> None:
    assert FORMULAS["triad"](1.0, 2.0) == 7.0
    assert FORMULAS["sgd_momentum"](1.0, 0.5, 1.0) == pytest.approx((1.0 - 1.4e-3, 1.4))
    p, m, v = FORMULAS["adam"](1.0, 1.0, 0.0, 0.0)
    assert (m, v) == pytest.approx((0.1, 0.01))
    assert p == pytest.approx(1.0 - 1e-3, rel=1e-5)
