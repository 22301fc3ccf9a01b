"""OPS → WORK: the class, dimensions, FLOP and bytes of every op; and transforms of WORK: forward pass alone, another
batch size, another precision, fusion, another layout.
"""

from estimator.work.count import count_work
from estimator.work.fusion import fuse
from estimator.work.layout import convert_layout
from estimator.work.normalization import merge_normalizations
from estimator.work.on_target import WorkOnTarget, work_on_target
from estimator.work.optimizer import replace_optimizer
from estimator.work.precision import convert_precision
from estimator.work.rebatch import rebatch
from estimator.work.step_pass import select_pass
from estimator.work.step_tensors import step_tensors, tensors_at_two_batches
from estimator.work.transformed import Transformed
from estimator.work.variables import step_variables

__all__ = [
    "Transformed",
    "WorkOnTarget",
    "convert_layout",
    "convert_precision",
    "count_work",
    "fuse",
    "merge_normalizations",
    "rebatch",
    "replace_optimizer",
    "select_pass",
    "step_tensors",
    "step_variables",
    "tensors_at_two_batches",
    "work_on_target",
]
