"""The table of what is timed holds what core/operators.csv says."""

from estimator.collect.bench.jobs import CHANNEL_STAND_INS, PASSES, POOL_KERNELS
from estimator.collect.bench.operators import DIRECTIONS, KERNELS, STAND_INS
from estimator.collect.bench.types import CAST, LAUNCH
from estimator.core.operators import CHANNEL_KERNELS, SUFFIXES, operators, timed_streams
from estimator.core.schema import STREAMING


def test_each_kernel_is_a_row_of_the_vocabulary() -> None:
    for name, kernel in KERNELS.items():
        row = operators()[name]
        assert kernel == (row.op_class, row.reads, row.writes, row.flop_per_element, row.along)
    assert set(KERNELS) == {*timed_streams(), *POOL_KERNELS, LAUNCH, CAST}


def test_classes_have_the_stand_ins_of_the_vocabulary() -> None:
    assert {name: operators()[name].benchmark_kernel for name in STAND_INS} == STAND_INS
    for name, row in operators().items():
        if row.op_class in STREAMING:
            assert row.benchmark_kernel in (name, STAND_INS.get(name, STAND_INS[row.op_class]))
    assert CHANNEL_STAND_INS == CHANNEL_KERNELS


def test_an_operator_on_images_has_its_pass() -> None:
    for name in ("convolution", "max_pool", "avg_pool"):
        for direction, suffix in SUFFIXES[name].items():
            assert DIRECTIONS[f"{name}{suffix}"] == direction
    assert set(DIRECTIONS.values()) == set(PASSES)
