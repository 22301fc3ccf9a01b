"""When the backward pass makes gradients, where no op tells: drawn, as it decides how far their messages are hidden.

Of all gradients a share x^a is taken to be made by a share x of the backward pass. With a = 1 they are made evenly;
with less, early, as those of dense layers behind convolutions; with more, late, as those of a wide input.
"""

from __future__ import annotations

import numpy as np

from estimator.core.interval import draw
from estimator.core.physics import ratio
from estimator.core.types import Floats, Integers, Names, RunPlan

# a of the 24 shipped profiles, whose ops tell (:func:`exponent`): 5 %, evenly, and 95 %; their median is 0.93
EXPONENT = (0.026, 1.0, 4.9)


def exponent(made: Floats, backward_s: Floats) -> float:
    """The exponent a of a step whose ops tell: m / (1 − m), with m the mean place of a gradient in the backward pass.

    Args:
        made: bytes of gradients that each op makes, in the order of the step.
        backward_s: times of the ops, 0 outside of the backward pass [s].

    Source: the mean of the distribution x^a on [0, 1] is a / (a + 1).
    """
    ended = np.cumsum(backward_s) / backward_s.sum()
    mean = float(ended @ made / made.sum())
    return mean / (1.0 - mean)


def drawn_places(times_s: Floats, operators: Names, buckets: Integers, ends: Floats, plan: RunPlan) -> Floats:
    """Samples of the times of messages [s], whose gradients are made evenly at nominal inputs alone.

    Args:
        times_s: samples (1 + draws × messages) [s], each bucket's by its even share.
        operators: of the messages. What all buckets of one take together stays.
        buckets: which part of the gradients each carries; below 0 for none.
        ends: the share of all gradients with which each bucket ends, if they are made evenly.
        plan: draws and seed.
    """
    exponents, moved_s = draw("gradients.places", *EXPONENT, plan.draws, plan.seed), times_s.copy()
    for operator in np.unique(operators[buckets >= 0]):
        same = np.flatnonzero((buckets >= 0) & (operators == operator))
        moved_s[:, same] *= _factors(times_s[:, same], buckets[same], ends, exponents)
    return moved_s


def _factors(times_s: Floats, buckets: Integers, ends: Floats, exponents: Floats) -> Floats:
    """By how much the time of each message changes, as its bucket carries other bytes."""
    of_bucket = times_s @ (buckets[:, None] == np.arange(len(ends)))
    edges = np.append(0.0, ends)
    sent_s = np.hstack([np.zeros((len(times_s), 1)), np.cumsum(of_bucket, axis=1)])
    made = edges ** exponents[:, None]
    by_then_s = np.array([np.interp(share, edges, each) for share, each in zip(made, sent_s, strict=True)])
    factor = ratio(np.diff(by_then_s, axis=1), of_bucket)
    return np.asarray(factor[:, buckets])
