"""Scaled sizes."""

from estimator.collect.capture import scaled


def test_scaled_sizes_shrink_to_at_least_one() -> None:
    assert scaled(0.1, 1000, 25, 2) == [100, 2, 1]
    assert scaled(1.0, 29532, 1) == [29532, 1]
