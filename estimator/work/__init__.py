"""OPS → WORK: the class, dimensions, FLOP and bytes of every op, as profiled; of the forward pass alone, at another
batch size, in another precision, fused, and in another layout.
"""

from estimator.work.count import count_work
from estimator.work.forward import in_mode
from estimator.work.fusion import fuse
from estimator.work.layout import relay
from estimator.work.precision import cross
from estimator.work.rebatch import rebatch
from estimator.work.update import with_update

__all__ = ["count_work", "cross", "fuse", "in_mode", "rebatch", "relay", "with_update"]
