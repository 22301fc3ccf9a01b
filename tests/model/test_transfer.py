"""What the source's run tells of the target: part of a class's miss, unless the class is unlike all that was fitted."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.model.coefficients import shipped
from estimator.model.hardware import hardware_of
from estimator.model.kernels import MODELS, launch_latency
from estimator.model.transfer import carried_over, emptied, in_common, in_step, left_out, without
from estimator.work import count_work
from tests.conftest import make_device, make_ops

SOURCE = make_device(name="source")
C = shipped()


def ran(slower: float) -> pd.DataFrame:
    """Two products and an element-wise op, the products so many times slower on the source than modelled."""
    rows = ({"op_type": "MatMul", "m": 4096, "n": 4096, "k": k} for k in (1024, 4096))
    work = count_work(make_ops(*rows, {"op_type": "Mystery"}), Workload(name="toy")).work
    on = hardware_of(SOURCE, work["op_class"], work["precision"])
    products = MODELS["gemm"].speaks(work)
    busy = MODELS["gemm"].busy(work[products], on.of(products), SOURCE, C)
    time = work["time_s"].to_numpy(dtype=float).copy()
    time[products] = slower * (busy.time + launch_latency(SOURCE, C))
    return work.assign(time_s=time)


def test_part_of_a_miss_goes_with_the_ops() -> None:
    found = carried_over(ran(1.5), SOURCE, C)
    assert found[:2] == pytest.approx(C.transfer.weight * np.log(1.5))
    assert found[2] == 0  # no model speaks of it


def test_a_class_that_is_far_off_tells_nothing() -> None:
    assert not carried_over(ran(3.0), SOURCE, C).any()


def test_ops_that_took_no_time_tell_nothing() -> None:
    assert not carried_over(ran(0.0), SOURCE, C).any()


def test_a_source_of_unknown_specifications_tells_nothing() -> None:
    assert not carried_over(ran(1.5), None, C).any()
    unknown = SOURCE.model_copy(update={"specifications": "unknown"})
    assert not carried_over(ran(1.5), unknown, C).any()


def test_what_a_step_makes_of_an_op_is_a_factor() -> None:
    own, alone = np.array([3.0, 1.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0, np.nan])
    np.testing.assert_array_equal(in_step(own, own, alone, alone), [1.5, 0.5, np.nan, np.nan])


def test_what_a_step_adds_grows_as_the_root_of_the_op() -> None:
    """Twice as long in its step; then half of that is another op's; then nothing tells of the op on the target."""
    own, alone = np.full(4, 2.0), np.ones(4)
    found = in_step(own, np.array([2.0, 2.0, 1.0, 2.0]), alone, np.array([4.0, 0.25, 4.0, np.nan]))
    np.testing.assert_allclose(found, [1.5, 3.0, 2.0, 2.0])


def test_what_an_op_waits_for_others_grows_as_they_do() -> None:
    """Beside another throughout, of its 8 s it had 4, 3 more than by itself; all ops take half as long there."""
    own, shared, alone = np.array([8.0, 8.0]), np.array([4.0, 8.0]), np.array([1.0, 8.0])
    found = in_step(own, shared, alone, np.array([4.0, 0.5]))
    np.testing.assert_allclose(found[0] * 4.0, 2.0 * (4.0 + 3.0 / 2.0))
    assert found[1] == 1.0


def test_how_far_a_step_empties_the_cache() -> None:
    """Half; all, beyond it as well; nothing where it is shorter; all where nothing tells: unknown, or hardly longer."""
    shared, warm, cold = np.array([1.5, 2.0, 4.0, 0.5, np.nan, 1.0, 0.9]), np.ones(7), np.array([2.0] * 5 + [1.0, 1.04])
    np.testing.assert_array_equal(emptied(shared, warm, cold), [0.5, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    assert emptied(np.ones(1), np.full(1, np.nan), cold[:1]).item() == 1.0


def test_how_much_of_its_launch_an_op_lacks_in_its_step() -> None:
    """Half; all, and no more where it is shorter still; nothing where it is longer, or nothing tells."""
    shared, launch = np.array([8.0, 6.0, 3.0, 11.0, np.nan, 0.0, 8.0]), np.array([4.0] * 6 + [0.0])
    np.testing.assert_array_equal(left_out(shared, np.full(7, 10.0), launch), [0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(without(np.array([10.0, 4.0]), np.full(2, 4.0)), [6.0, 0.4])


def test_rows_of_one_library_tell_of_each_other() -> None:
    one, other, unknown, unversioned = (pd.DataFrame({"library": [name, None]}) for name in ("a 1", "a 2", None, "a"))
    assert [len(rows) for rows in in_common(one, pd.concat([other, one, one]))] == [1, 2]
    for rows, others in ((one, other), (unknown, unknown), (unversioned, unversioned)):
        assert not any(map(len, in_common(rows, others)))
