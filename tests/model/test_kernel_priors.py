import numpy as np

from estimator.model.coefficients import shipped

PRIORS = shipped().kernel_priors


def test_a_prior_gives_the_hyperparameters_with_what_memories_differ_by() -> None:
    actual = PRIORS.pooling.hyperparameters(memory=0.1)
    assert actual.memory == 0.1
    given = PRIORS.pooling.model_dump(exclude={"source"})
    assert {name: getattr(actual, name) for name in given} == given


def test_streams_differ_more_by_shape_where_caches_hold_them() -> None:
    streams, pools = (prior.hyperparameters(0.1) for prior in (PRIORS.memory_bound, PRIORS.pooling))
    assert np.min(streams.isolated().shape) > np.max(streams.shape)
    assert pools.isolated() == pools
