"""Gradients: which op makes how many, and buckets."""

import pytest

from estimator.core.types import Workload
from estimator.work.gradients import BUCKET_BYTES, MOST_BUCKETS, bucket_bytes, gradients_made
from tests.work.test_parallel import layers


def test_parameters_that_no_product_makes_come_last() -> None:
    work = layers(64, 64, 64)
    made, notes = gradients_made(work, Workload(name="t", parameters=2 * 64**2 + 1000))
    assert made[made > 0].tolist() == [64**2, 64**2 + 1000]
    assert notes == ()


def test_shared_weights_are_sent_once() -> None:
    made, _ = gradients_made(layers(64, 64, 64), Workload(name="t", parameters=64**2))
    assert made.sum() == 64**2


@pytest.mark.parametrize(("gradients", "bucket"), [(1e6, BUCKET_BYTES), (1e12, 1e12 / MOST_BUCKETS)])
def test_buckets_grow_where_there_would_be_too_many(gradients: float, bucket: float) -> None:
    assert bucket_bytes(gradients) == bucket
