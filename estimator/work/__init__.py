"""OPS → WORK: the class, dimensions, FLOP and bytes of every op, as profiled, in another precision, and fused."""

from estimator.work.count import count_work
from estimator.work.fusion import fuse
from estimator.work.precision import cross

__all__ = ["count_work", "cross", "fuse"]
