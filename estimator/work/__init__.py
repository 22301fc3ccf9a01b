"""OPS → WORK: what each op computes and moves, whatever the device."""

from estimator.work.count import count_work

__all__ = ["count_work"]
