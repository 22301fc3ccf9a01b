import numpy as np

from estimator.model.arrays import first_met, padded


def test_each_op_has_the_name_of_the_first_condition_that_it_meets() -> None:
    conditions = [np.array([True, False, False]), np.array([True, True, False])]
    assert first_met(conditions, ["first", "second"], "neither").tolist() == ["first", "second", "neither"]


def test_ops_that_are_added_have_the_missing_value() -> None:
    assert padded(np.array([1.0, 2.0]), 4, 0.5).tolist() == [1.0, 2.0, 0.5, 0.5]


def test_names_may_be_exchanged_for_longer_ones() -> None:
    actual = first_met([np.array([True])], ["a"], "b")
    actual[0] = "longer"
    assert actual.tolist() == ["longer"]
