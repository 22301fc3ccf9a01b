"""What a transform returns."""

import pandas as pd

from estimator.work.transformed import Transformed


def test_a_transform_tells_nothing_unless_it_says_so() -> None:
    assert Transformed(pd.DataFrame(), changed=False).notes == ()


def test_its_table_is_not_written_out() -> None:
    assert repr(Transformed(pd.DataFrame({"op": ["secret"]}), changed=True)) == "Transformed(changed=True, notes=())"
