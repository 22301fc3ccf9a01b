"""TensorFlow: chains of calls, and names of paddings."""

from pathlib import Path

import pytest

from estimator.collect.bench import timing
from estimator.collect.bench.jobs import PASSES, POOL_KERNELS
from estimator.collect.bench.library import Library
from estimator.collect.bench.tensorflow_library import (
    CHAIN_LENGTHS,
    LONG_CALL_S,
    MAX_LENGTH_IN_TURN,
    TensorFlow,
    _ChainedCall,
    _padding,
)
from estimator.collect.bench.types import Conv, Run
from tests.collect.bench.runs import POOL, run, run_every_op


def test_tensorflows_own_threads_do_not_disturb_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "switches", iter(range(0, 1000, 100)).__next__)
    library = object.__new__(TensorFlow)
    library.gpu, library.chains = False, 2
    monkeypatch.setattr(library, "graph", lambda run, length: run, raising=False)
    assert Library.time_calls(library, lambda: None, 4, None)[1]
    assert not library.time_calls(lambda: None, 4, None)[1]


@pytest.mark.parametrize(("count", "length"), [(1, 1), (2, 1), (3, 4), (100, 64), (1000, 64)])
def test_tensorflows_chains_are_as_long_as_calls_are_many(
    count: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, lengths = object.__new__(TensorFlow), list[int]()
    library.gpu, library.chains = False, 2

    def graph(run: Run, length: int) -> Run:
        lengths.append(length)
        return run

    monkeypatch.setattr(library, "graph", graph, raising=False)
    library.time_calls(lambda: None, count, None)
    assert lengths == [length]


def test_cold_calls_take_turns_on_separate_arrays() -> None:
    library, made, took = object.__new__(TensorFlow), list[int](), [1e-3]
    library.gpu, library.chains = False, 2
    library.time_calls = lambda run, count, flush: (took[0], False)  # type: ignore[method-assign]

    def build(_: Library) -> Run:
        made.append(len(made))
        return lambda: None

    for apart, runs, length in ((5, 6, 3), (1, 2, 1), (300, 300, 150)):
        actual = library.prepare_cold(build, 9000, apart)
        assert isinstance(actual, _ChainedCall)
        assert (len(actual.runs), actual.lengths) == (runs, (length,))
    assert library.prepare_cold(build, 5, 5) is None  # there is not memory enough for six
    assert library.prepare_cold(build, 9000, 2 * MAX_LENGTH_IN_TURN + 1) is None  # nor would a chain be short enough
    assert library.prepare_cold(lambda _: _ChainedCall([], CHAIN_LENGTHS[:-1]), 1000, 128) is None
    took[0] = 2 * LONG_CALL_S
    assert library.prepare_cold(build, 9000, 5) is None  # the cache is emptied in less
    library.gpu, took[0] = True, 1e-3
    assert library.prepare_cold(build, 1000, 5) is None


@pytest.mark.parametrize(
    ("pad", "stride", "padding"), [(0, 1, "VALID"), (1, 1, "SAME"), (2, 1, "EXPLICIT"), (1, 2, "EXPLICIT")]
)
def test_names_of_paddings(pad: int, stride: int, padding: str) -> None:
    conv = Conv(1, 1, 8, 8, 1, 3, 3, (stride, stride), (pad, pad), (1, 1), 1, "forward")
    assert _padding(conv) == padding


@pytest.mark.slow
@pytest.mark.tensorflow
def test_every_op_of_tensorflow_runs(tmp_path: Path) -> None:
    run_every_op(tmp_path, "tensorflow")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_pools_run_in_tensorflow(tmp_path: Path) -> None:
    rows = [
        {**POOL, "precision": "fp32", "stride_h": 2, "stride_w": 2, "kernel": kernel, "pass": what}
        for kernel in POOL_KERNELS for what in PASSES[:2]
    ]  # fmt: skip
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    actual = run(tmp_path, "\n".join(lines) + "\n", "--backend", "tensorflow", "--relative-error", "0.5")
    assert [(row["kernel"], row["pass"]) for row in actual] == [(row["kernel"], row["pass"]) for row in rows]
    assert all(float(row["time_s"]) > 0 and int(row["repeats"]) >= 1 for row in actual)
