"""The base class of libraries."""

import numpy as np
import pytest

from estimator.collect.bench.library import Library
from estimator.collect.bench.numpy_library import Numpy
from estimator.collect.bench.operators import KERNELS
from estimator.collect.bench.types import CAST, LAUNCH, FaultError, LeftOutError


class Missing(Library):
    name = "no_such_library"


def test_a_library_times_its_ops_a_launch_and_casts() -> None:
    library = Numpy("cpu", 1)
    assert library.kernels() == {*library.ops(), LAUNCH, CAST}
    assert library.kernels() <= KERNELS.keys()


def test_ops_that_a_library_lacks_are_left_out() -> None:
    with pytest.raises(LeftOutError, match="numpy has no gelu"):
        Numpy("cpu", 1).stream("gelu", "fp32", (8,))
    with pytest.raises(LeftOutError, match="numpy has no cast to bf16"):
        Numpy("cpu", 1).cast("bf16", (8,))


def test_a_broken_library_and_a_missing_gpu_are_faults() -> None:
    with pytest.raises(FaultError, match="pip install no_such_library"):
        Missing("cpu", 1)
    with pytest.raises(FaultError, match="numpy sees no GPU"):
        Numpy("cuda", 1)


def test_arrays_hold_normal_numbers() -> None:
    numbers = Numpy("cpu", 1).host((3, 5), "fp64")
    assert (numbers.shape, numbers.dtype) == ((3, 5), np.float64)
    assert len(np.unique(numbers)) == 15
