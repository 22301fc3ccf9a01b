"""Passes: their names, and how many a row holds."""

import numpy as np
import pandas as pd

from estimator.core.passes import pass_names, passes_of, runs_pass

ROWS = pd.DataFrame({"pass": pd.array(["forward", "grad_input", "grad_weights", "backward", None], dtype="string")})


def test_a_backward_pass_is_both_gradients() -> None:
    assert passes_of(ROWS).tolist() == [1, 1, 1, 2, 1]
    names = pass_names(ROWS)
    runs = {name: np.flatnonzero(runs_pass(names, name)).tolist() for name in ("forward", "grad_input", "grad_weights")}
    assert runs == {"forward": [0, 4], "grad_input": [1, 3], "grad_weights": [2, 3]}


def test_a_row_without_a_pass_is_forward() -> None:
    assert pass_names(ROWS)[-1] == "forward"
