"""The timing program: its timing logic under a clock that we turn, its shapes, its ops, and how it goes on."""

import argparse
import csv
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator.collect.measure import bench
from estimator.core.schema import MEASUREMENTS

KERNELS = "".join(f"{op[0]},fp32,,,,,,{name},20000,,,,,,,,,,,,\n" for name, op in bench.KERNELS.items())
SHAPES = (
    "op_class,precision,batch,m,n,k,trans_a,kernel,bytes,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,pad_h,pad_w,"
    "groups,pass,conv_p\n"
    "gemm,fp32,2,8,4,16,t,,,,,,,,,,,,,,\ngemm,fp64,,8,4,16,n,,,,,,,,,,,,,,\nelementwise,fp32,,,,,,launch,,,,,,,,,,,,,\n"
    + KERNELS
)
CONVOLUTION = "convolution,{},,,,,,,,2,4,6,5,6,3,2,1,0,1,{},\n"
POOL = {"op_class": "pooling"} | {
    f"conv_{name}": size for name, size in zip("nchwrspq", (2, 3, 9, 7, 3, 3, 4, 3), strict=True)
}


class Machine:
    """A clock, and calls that take what a list says, the last value from then on."""

    def __init__(self, *costs: float) -> None:
        self.now, self.costs, self.counts = 0.0, list(costs), list[int]()
        self.slow = math.inf  # cost from which on a sample is a disturbed one

    def timed(self, count: int) -> bench.Timed:
        cost = self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]
        self.now += count * cost
        self.counts.append(count)
        return count * cost, cost >= self.slow

    def repeat(
        self, wanted: float = 0.02, share: float = 100.0, most: float = 100.0, batch: float = 0.0
    ) -> list[float]:
        samples, self.disturbed = bench.repeat(self.timed, wanted, share, most, batch, lambda: self.now)
        return samples


def test_steady_calls_need_the_fewest_repeats() -> None:
    assert Machine(0.5).repeat() == [0.5] * bench.LEAST


def test_repeats_go_on_until_the_median_is_known_so_well() -> None:
    noise = [1.0 + 0.3 * math.sin(7 * i) for i in range(5000)]
    loose, strict = (Machine(1.0, 1.0, 1.0, *noise).repeat(wanted, share=1e9) for wanted in (0.1, 0.05))
    assert bench.LEAST < len(loose) < len(strict) < bench.MOST
    assert bench.relative_error(strict) <= 0.05 < bench.relative_error(strict[:-1])


def test_the_share_of_the_budget_ends_the_repeats() -> None:
    machine = Machine(1.0, *[1.0, 2.0] * 500)
    assert bench.LEAST <= len(machine.repeat(1e-6, share=40.0)) <= 40


def test_compilation_and_warming_up_count_for_nothing() -> None:
    assert Machine(1000.0, 5.0, 2.0, 1.0, 1.0).repeat(share=30.0) == [1.0] * bench.LEAST


def test_calls_that_are_too_long_are_left_out() -> None:
    with pytest.raises(bench.LeftOutError, match="share of the budget"):
        Machine(1.0).repeat(most=6.0)


def test_disturbed_samples_do_not_count() -> None:
    machine = Machine(1.0, 1.0, 1.0, *[50.0, 1.0, 60.0] * 20)
    machine.slow = 50.0
    assert machine.repeat(share=1e4) == [1.0] * bench.LEAST
    assert machine.disturbed == pytest.approx(13 / 20)


def test_where_every_sample_is_disturbed_it_is_told() -> None:
    machine = Machine(50.0)
    machine.slow = 50.0
    samples = machine.repeat(share=1000.0, most=1000.0)
    assert set(samples) == {50.0}
    assert len(samples) > bench.LEAST
    assert machine.disturbed == 1.0


def test_few_samples_are_not_taken_for_sure() -> None:
    machine = Machine(1.0, 1.0, 1.0, 1.0, *[70.0, 60.0, 50.0] * 20)
    machine.slow = 50.0
    samples = machine.repeat(share=2000.0)
    assert sorted(samples) == [1.0, *[50.0] * (bench.LEAST - 1)]
    assert machine.disturbed > 0.9


def test_a_busy_neighbour_disturbs(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter((0, 1, 1, 1, 5, 9))
    monkeypatch.setattr(bench, "switches", lambda: next(count))
    assert [bench.stopwatch()()[1] for _ in range(3)] == [True, False, True]


def test_tensorflows_own_threads_do_not_disturb_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "switches", iter(range(0, 1000, 100)).__next__)
    library = object.__new__(bench.TensorFlow)
    library.gpu, library.chains = False, 2
    monkeypatch.setattr(library, "graph", lambda run, length: run, raising=False)
    assert bench.Library.timed(library, lambda: None, 4, None)[1]
    assert not library.timed(lambda: None, 4, None)[1]


@pytest.mark.parametrize(("count", "length"), [(1, 1), (2, 1), (3, 4), (100, 64), (1000, 64)])
def test_tensorflows_chains_are_as_long_as_calls_are_many(
    count: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, lengths = object.__new__(bench.TensorFlow), list[int]()
    library.gpu, library.chains = False, 2

    def graph(run: bench.Run, length: int) -> bench.Run:
        lengths.append(length)
        return run

    monkeypatch.setattr(library, "graph", graph, raising=False)
    library.timed(lambda: None, count, None)
    assert lengths == [length]


def test_calls_that_find_nothing_in_the_cache_take_turns_on_arrays_of_their_own() -> None:
    library, made, took = object.__new__(bench.TensorFlow), list[int](), [1e-3]
    library.gpu, library.chains = False, 2
    library.timed = lambda run, count, flush: (took[0], False)  # type: ignore[method-assign]

    def build(_: bench.Library) -> bench.Run:
        made.append(len(made))
        return lambda: None

    for apart, runs, length in ((5, 6, 3), (1, 2, 1), (300, 300, 150)):
        found = library.prepared_cold(build, 9000, apart)
        assert isinstance(found, bench._Chained)
        assert (len(found.runs), found.lengths) == (runs, (length,))
    assert library.prepared_cold(build, 5, 5) is None  # there is not memory enough for six
    assert library.prepared_cold(build, 9000, 2 * bench.MOST_IN_TURN + 1) is None  # nor would a chain be short enough
    assert library.prepared_cold(lambda _: bench._Chained([], bench.LENGTHS[:-1]), 1000, 128) is None
    took[0] = 2 * bench.LONG_S
    assert library.prepared_cold(build, 9000, 5) is None  # the cache is emptied in less
    library.gpu, took[0] = True, 1e-3
    assert library.prepared_cold(build, 1000, 5) is None


@pytest.mark.parametrize(
    ("what", "reads"), [("forward", 96 + 36), ("grad_input", 36 + 128), ("grad_weights", 96 + 128), ("backward", 260)]
)
def test_what_a_convolution_reads(what: str, reads: int) -> None:
    """An image of 2 x 3 x 4 x 4, four kernels of 3 x 1 x 3, and as large an output of four channels."""
    sizes = {f"conv_{name}": size for name, size in zip("nchwkrs", (2, 3, 4, 4, 4, 1, 3), strict=True)}
    assert job(op_class="convolution", pad_w=1, **{**sizes, "pass": what}).reads == 4 * reads


def test_short_calls_are_timed_many_at_once() -> None:
    machine = Machine(1e-7)
    assert machine.repeat(batch=1e-3) == pytest.approx([1e-7] * bench.LEAST)
    assert machine.counts[-1] * 1e-7 >= 1e-3
    alone = Machine(1e-7)
    alone.repeat()
    assert set(alone.counts) == {1}


def test_the_relative_error_is_that_of_the_median() -> None:
    rng = np.random.default_rng(5)
    medians, told = [], []
    for _ in range(400):
        samples = rng.lognormal(0.0, 0.2, 41).tolist()
        medians.append(bench.quantile(samples, 0.5))
        told.append(bench.relative_error(samples))
    inside = [abs(median - 1.0) <= error for median, error in zip(medians, told, strict=True)]
    assert 0.88 <= np.mean(inside) <= 0.99


def test_quantiles_are_numpys() -> None:
    samples = [3.0, 1.0, 2.0, 10.0]
    for share in (0.05, 0.5, 0.95):
        assert bench.quantile(samples, share) == pytest.approx(np.quantile(samples, share))


def job(**cells: object) -> bench.Job:
    text = {name: str(value) for name, value in cells.items()}
    return bench.job(bench.Shape({"precision": "fp32", **text}, "shapes.csv: row 3"))


def test_the_work_of_a_product() -> None:
    found = job(op_class="gemm", batch=2, m=3, n=5, k=7, precision="fp16")
    assert (found.work, found.size) == (2 * 2 * 3 * 5 * 7, 2 * 2 * (21 + 35 + 15))
    assert found.reads == 2 * 2 * (21 + 35)
    assert found.columns.items() >= {"trans_a": "n", "accumulate": "fp32"}.items()
    assert found.caches == ("",)
    assert job(op_class="gemm", m=3, n=5, k=7, cache="cold").caches == ("cold",)


def test_padding_that_differs_by_side_is_timed_on_an_image_that_holds_it() -> None:
    sizes = {f"conv_{name}": size for name, size in zip("nchwkrs", (1, 3, 28, 28, 8, 3, 3), strict=True)}
    found = job(op_class="convolution", stride_h=2, stride_w=2, conv_p=14, conv_q=14, **sizes)
    assert found.columns["padding"] == "image 29x29, no padding"
    assert found.columns["conv_h"] == 28
    assert found.work == 2 * 8 * 14 * 14 * 3 * 9
    assert "padding" not in job(op_class="convolution", conv_p=26, conv_q=26, **sizes).columns


def test_a_memory_bound_op_moves_the_bytes_asked_for() -> None:
    found = job(op_class="elementwise", bytes=12 * 1024 * 10 + 5)
    assert found.columns.items() >= {"kernel": "add", "bytes": 12 * 1024 * 10, "flop": 1024 * 10}.items()
    assert found.caches == ("cold", "warm")
    assert job(op_class="movement", bytes=8, cache="cold").caches == ("cold",)


@pytest.mark.parametrize(
    ("kind", "kernel", "arrays"), [("elementwise", "bias_add", 2), ("reduction", "channel_sum", 1)]
)
def test_an_op_along_channels_has_as_many_as_told(kind: str, kernel: str, arrays: int) -> None:
    found = job(op_class=kind, kernel=kernel, bytes=arrays * 4 * 321, conv_c=32)
    assert found.columns.items() >= {"conv_c": 32, "bytes": arrays * 4 * 320, "flop": 320}.items()
    library = bench.Numpy("cpu", 1)
    library.call = lambda kernel, arrays: lambda: [x.shape for x in arrays]  # type: ignore[method-assign]
    assert found.build(library)() == [(10, 32), (32,)][:arrays]
    fewest = job(op_class=kind, kernel=kernel, bytes=40, conv_c=32)
    assert fewest.columns["bytes"] == arrays * 4 * 2 * 32  # one row meets no other's number
    assert job(op_class=kind, kernel=kernel, bytes=1e7).columns["conv_c"] == bench.WIDTH
    assert job(op_class=kind, bytes=1e7, conv_c=32).columns.items() >= {"conv_c": 32, "kernel": kernel}.items()
    assert "conv_c" not in job(op_class=kind, kernel=bench.STANDS_FOR[kind], bytes=1e7, conv_c=32).columns


@pytest.mark.parametrize("width", [3, 20_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_numpy_makes_along_channels(width: int, threads: int) -> None:
    library = bench.Numpy("cpu", threads)
    x, bias = library.array((7, width), "fp32"), library.array((width,), "fp32")
    made = library.np.concatenate(list(_parts(library.call("bias_add", [x, bias])())))
    assert (made == x + bias).all()
    assert library.np.allclose(sum(_parts(library.call("bias_grad", [x])())), x.sum(0), atol=1e-4)


def _parts(made: list[Any]) -> Iterator[Any]:
    """What each block of an op made, whether threads shared them or not."""
    return itertools.chain.from_iterable(part if isinstance(part, list) else [part] for part in made)


@pytest.mark.parametrize("elements", [1, 2047, 5000])
def test_an_op_without_rows_is_timed_on_exactly_so_many_elements(elements: int) -> None:
    library = bench.Numpy("cpu", 1)
    found = job(op_class="elementwise", bytes=12 * elements)
    library.call = lambda kernel, arrays: lambda: [x.shape for x in arrays]  # type: ignore[method-assign]
    assert (found.columns["bytes"], found.build(library)()) == (12 * elements, [(elements,)] * 2)
    rowed = job(op_class="normalization", bytes=8 * elements)
    assert math.prod(rowed.build(library)()[0]) * 8 == rowed.columns["bytes"]
    assert rowed.columns["bytes"] % (8 * min(elements, bench.WIDTH)) == 0


@pytest.mark.parametrize(
    ("pad", "stride", "padding"), [(0, 1, "VALID"), (1, 1, "SAME"), (2, 1, "EXPLICIT"), (1, 2, "EXPLICIT")]
)
def test_what_tensorflow_calls_a_padding(pad: int, stride: int, padding: str) -> None:
    conv = bench.Conv(1, 1, 8, 8, 1, 3, 3, (stride, stride), (pad, pad), (1, 1), 1, "forward")
    assert bench._padding(conv) == padding


def test_the_work_of_a_pool() -> None:
    image, pooled = 2 * 3 * 9 * 7, 2 * 3 * 4 * 3
    found = job(**POOL, stride_h=2, stride_w=2)
    assert found.columns.items() >= {"kernel": "max_pool", "pass": "forward", "flop": image}.items()
    assert found.columns["bytes"] == found.work == 4 * (image + pooled)
    backward = job(**POOL, stride_h=2, stride_w=2, **{"pass": "grad_input"})
    assert backward.columns["bytes"] == 8 * (image + pooled)
    with pytest.raises(bench.LeftOutError, match="a pool of 9x7 to 4x3 is not measured here"):
        job(**POOL)
    for cells in ({"bytes": 80}, {"kernel": "cudnn::pooling_fw", **POOL}):
        with pytest.raises(bench.LeftOutError, match="another kind or of unknown sizes"):
            job(**{"op_class": "pooling", **cells})
    with pytest.raises(bench.LeftOutError, match="numpy has no pool"):
        found.build(bench.Numpy("cpu", 1))


def test_the_work_of_an_update() -> None:
    assert job(op_class="elementwise", kernel="sgd_momentum", bytes=20).columns["flop"] == 4


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"op_class": "gemm", "m": 4, "n": 4}, "shapes.csv: row 3: k is missing"),
        ({"op_class": "gemm", "m": 4, "n": 4, "k": "4.5"}, "row 3: k is 4.5; write a whole number"),
        ({"op_class": "gemm", "m": 4, "n": 0, "k": 1}, "n is 0"),
        ({"op_class": "reduction", "bytes": "many"}, "bytes is many"),
        ({"op_class": "reduction", "bytes": 4e18}, "below 281474976710656"),
        ({"op_class": "gemm", "m": 1e9, "n": 1e9, "k": 1}, "more than any memory holds"),
        ({"op_class": "gemm", "m": 4, "n": 4, "k": 4, "trans_a": "x"}, "trans_a is x; write one of n, t"),
        ({"op_class": "reduction", "bytes": 8, "cache": "hot"}, "cache is hot; write one of cold, warm"),
        ({"op_class": "reduction", "bytes": 8, "kernel": "add"}, "kernel is add; write one of sum"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(cells: dict[str, object], words: str) -> None:
    with pytest.raises(bench.FaultError, match=words):
        job(**cells)


@pytest.mark.parametrize("cells", [{"op_class": "recurrent"}, {"op_class": "gemm", "precision": "fp8"}])
def test_what_nothing_times_is_left_out(cells: dict[str, object]) -> None:
    with pytest.raises(bench.LeftOutError, match="not measured here"):
        job(**cells)


def test_numpy_computes_what_it_times() -> None:
    library = bench.Numpy("cpu", 2)
    x = library.array((200, bench.WIDTH), "fp32")
    calls = library.ops()
    out = np.empty_like(x)
    calls["softmax"](x, out)
    assert out.sum(-1) == pytest.approx(np.ones(200), rel=1e-4)
    calls["layer_norm"](x, out)
    assert out.std(-1) == pytest.approx(np.ones(200), rel=1e-3)
    assert np.abs(x).min() > np.finfo("float32").tiny
    assert library.gemm("fp64", (8, 4), (8, 3), True, False)().shape == (4, 3)


@pytest.mark.parametrize(("threads", "rows", "pooled"), [(3, 1000, True), (3, 100, False), (1, 1000, False)])
def test_threads_share_an_op_that_is_long_enough(
    threads: int, rows: int, pooled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, done, pools = bench.Numpy("cpu", threads), list[int](), list[int]()
    x = library.array((rows, bench.WIDTH), "fp32")
    library.ops = lambda: {"add": lambda x, y, out: done.append(len(x))}  # type: ignore[method-assign]

    def pool(count: int) -> ThreadPoolExecutor:
        pools.append(count)
        return ThreadPoolExecutor(count)

    monkeypatch.setattr(bench, "ThreadPoolExecutor", pool)
    library.call("add", [x, x])()
    assert (sum(done), pools) == (rows, [threads] * pooled)


def test_a_core_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "usable", lambda: [0, 1, 2, 3])
    assert bench.cores(str(tmp_path)) == [0, 1, 2, 3]
    for cpu in range(4):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    assert bench.cores(str(tmp_path)) == [0, 1]


def test_a_containers_limits_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CGROUP", str(tmp_path))
    monkeypatch.setattr(bench, "usable", lambda: list(range(8)))
    assert bench.allowed("cpu.max") == math.inf
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "memory.stat").write_text("anon 524288\nfile 4096\nanon_thp 7\n")
    assert (bench.allowed("cpu.max"), bench.memory("MemTotal")) == (1.5, 2.0**20)
    assert bench.memory("MemAvailable") == 2.0**19
    with pytest.raises(bench.FaultError, match="this process may use 1 processors"):
        bench.limit_threads(2)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert bench.allowed("cpu.max") == math.inf
    for asked in (0, -1, 9):
        with pytest.raises(bench.FaultError, match="may use 8 processors"):
            bench.limit_threads(asked)


@pytest.mark.parametrize(("seen", "asked"), [(None, "0"), ("2,3", "2"), ("GPU-5e", "GPU-5e")])
def test_numbers_that_a_gpu_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str | None, asked: str
) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!{sys.executable}\nimport sys\nif sys.argv[-1] == {asked!r}: print('GB10, 580, [N/A], 3003')\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert bench.smi.__wrapped__() == {"name": "GB10", "driver": "driver 580", "memory": None, "max_clock": 3.003e9}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert bench.query("name", "driver_version") == []


def test_the_last_level_cache_is_counted_once_for_those_that_share_it(tmp_path: Path) -> None:
    caches = {"index0": ("1", "32K", "{}"), "index1": ("3", "32768K", "0-3")}
    for cpu in bench.usable():
        for name, texts in caches.items():
            folder = tmp_path / f"cpu{cpu}/cache/{name}"
            folder.mkdir(parents=True)
            for file, text in zip(("level", "size", "shared_cpu_list"), texts, strict=True):
                (folder / file).write_text(f"{text.format(cpu)}\n")
    assert bench.last_level_caches(str(tmp_path)) == [32768 * 1024]
    assert bench.last_level_caches(str(tmp_path / "none")) == []


@pytest.mark.parametrize(("part", "found"), [(60, 120), (70, 120), (480, 480), (250, 480), (1, 480)])
def test_what_of_a_cache_holds_arrays(part: float, found: float) -> None:
    """As much as is read faster, twice over, so that no array of the rest lies in it; all of it where nothing tells."""
    mib = 2.0**20
    assert bench.held(480 * mib, lambda size: 30e9 if size <= part * mib else 15e9) == found * mib
    assert bench.held(480 * mib, lambda size: 15e9) == 480 * mib


def test_the_cache_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    library, named = bench.Numpy("cpu", 1), [2.0**28, 2.0**28]
    assert 1e8 < bench.rate_of_reading(library.np, 1e6) < 1e13
    monkeypatch.setattr(bench, "memory", lambda key: 2.0**40)
    monkeypatch.setattr(bench, "last_level_caches", lambda: named)
    monkeypatch.setattr(bench, "rate_of_reading", lambda np, size: 1e10 if size > 2.0**24 else 2e10)
    assert bench.reached_cache(library) == 2 * 2.0**25
    monkeypatch.setattr(bench, "memory", lambda key: 2.0**28)  # too little to tell
    assert bench.reached_cache(library) == 2 * 2.0**28
    named.clear()
    assert bench.reached_cache(library) is None


def measure(folder: Path, *words: str, shapes: str = SHAPES) -> int:
    (folder / "shapes.csv").write_text(shapes)
    options = ("--backend", "numpy", "--budget", "20", "--relative-error", "0.5", *words)
    return bench.main([*options, "--shapes", str(folder / "shapes.csv"), "-o", str(folder / "out.csv")])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bench, "keep_memory", lambda: None)
    monkeypatch.setattr(bench, "limit_threads", lambda asked: asked or 2)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(bench, "clock_under_load", lambda library: "1000 MHz")
    monkeypatch.setattr(bench, "reached_cache", lambda library: None)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    return tmp_path


def stopped_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let so many shapes be measured, then press Ctrl-C; gives what undoes it."""
    original, left = bench.Sweep._measure, iter(range(count))

    def measured(self: bench.Sweep, *arguments: Any) -> list[dict[str, Any]]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return original(self, *arguments)

    monkeypatch.setattr(bench.Sweep, "_measure", measured)
    return lambda: monkeypatch.setattr(bench.Sweep, "_measure", original)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_stopped_run_goes_on_where_it_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    undo = stopped_after(2, monkeypatch)
    assert measure(folder) == 130
    assert "goes on from here" in capsys.readouterr().err
    partial = folder / "out.csv.partial"
    assert {path.name for path in folder.iterdir()} == {"shapes.csv", partial.name}
    first = [row for line in partial.read_text().splitlines()[1:] for row in json.loads(line)["rows"]]
    with partial.open("a") as file:
        file.write('{"shape": 2, "rows": [{"time_s"')  # a crash in the middle of a line
    undo()
    assert measure(folder) == 0
    rows = read(folder / "out.csv")
    assert [float(row["time_s"]) for row in rows[: len(first)]] == [row["time_s"] for row in first]
    assert not partial.exists()
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["sha256"]["out.csv"] == bench.digest(folder / "out.csv")
    assert list(provenance["left_out"].values()) == ["numpy has no gelu"]


@pytest.mark.parametrize("words", [("--relative-error", "0.4"), ("--threads", "99")])
def test_unlike_conditions_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    undo = stopped_after(1, monkeypatch)
    assert measure(folder) == 130
    undo()
    assert measure(folder, *words) == 1
    assert "unlike conditions do not mix" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_other_shapes_are_other_conditions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undo = stopped_after(1, monkeypatch)
    assert measure(folder) == 130
    undo()
    assert measure(folder, shapes=SHAPES.replace("16,t", "17,t")) == 1


def test_a_spent_budget_leaves_out_the_rest_and_says_so(folder: Path) -> None:
    assert measure(folder, "--budget", "1e-9") == 0
    reasons = json.loads((folder / "provenance.json").read_text())["left_out"].values()
    assert set(reasons) == {"the budget of 1e-09 s does not last for it"}


@pytest.mark.parametrize(("free", "fits"), [(1.2e6, False), (1.3e6, True)])
def test_what_does_not_fit_the_memory_is_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, free: float, fits: bool
) -> None:
    monkeypatch.setattr(bench, "memory", lambda key: free)
    assert measure(folder, shapes="op_class,precision,bytes\nmovement,fp32,1e6\n") == 0
    left_out = json.loads((folder / "provenance.json").read_text())["left_out"]
    assert left_out == ({} if fits else {"1": "needs 0.001 GB of memory; there is 0.0012 GB"})


def test_what_an_option_left_out_is_open_to_the_next_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = "op_class,precision,m,n,k\ngemm,fp32,8,8,8\n" + "gemm,fp32,4,4,4\n" * 2
    undo = stopped_after(1, monkeypatch)
    monkeypatch.setattr(bench, "memory", lambda key: {"MemTotal": 1e9, "MemAvailable": 1.0}[key])
    assert measure(folder, shapes=shapes) == 130
    undo()
    monkeypatch.setattr(bench, "memory", lambda key: 1e9)
    assert measure(folder, shapes=shapes) == 0
    assert json.loads((folder / "provenance.json").read_text())["left_out"] == {}


def test_a_row_that_others_disturbed_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "stopwatch", lambda: lambda: (1e-3, True))
    assert measure(folder, "--budget", "0.2", shapes="op_class,precision,m,n,k\ngemm,fp32,8,4,2\n") == 0
    about = json.loads((folder / "provenance.json").read_text())
    assert (about["disturbed"], about["disturbed_share"]) == (["gemm fp32 1 8 4 2 n n"], 1.0)
    assert len(read(folder / "out.csv")) == 1


def test_a_row_with_too_many_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(folder, shapes="op_class,precision,bytes\nmovement,fp32,8,9\n") == 1
    assert "row 1 has more cells" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--budget", "inf"), ("--budget", "nan"), ("--relative-error", "1")])
def test_numbers_of_options_are_above_zero(folder: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        measure(folder, *words)


def test_an_all_reduce_needs_pytorch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(folder, "--all-reduce", "2") == 1
    assert "needs PyTorch" in capsys.readouterr().err


def test_nobody_has_to_read_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "shapes.csv").write_text(SHAPES)
    words = [sys.executable, bench.__file__, "--backend", "numpy", "--budget", "20", "--relative-error", "0.5"]
    places = ["--shapes", str(tmp_path / "shapes.csv"), "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen([*words, *places], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.readline()
        started.stdout.close()
        assert (started.stderr.read(), started.wait(60)) == ("", 0)
    assert len(read(tmp_path / "out.csv")) > 10


def test_the_rows_are_those_of_measurements(folder: Path) -> None:
    assert measure(folder) == 0
    assert set(bench.COLUMNS) <= set(MEASUREMENTS.names())
    import pandas as pd

    rows = MEASUREMENTS.conform(pd.read_csv(folder / "out.csv", dtype="string[python]"), "out.csv")
    assert (rows["time_low_s"] <= rows["time_s"]).all()
    assert (rows["time_s"] <= rows["time_high_s"]).all()
    assert (rows["repeats"] >= bench.LEAST).all()
    assert rows[["library", "threads", "source"]].notna().all(axis=None)
    assert set(rows["clock"]) == {"1000 MHz"}
    streams = rows[rows["kernel"].isin(bench.KERNELS)]
    assert set(streams["cache"]) == {"cold", "warm"}
    assert (streams["bytes"] > 0).all()


@pytest.mark.parametrize(("backend", "words"), [("abacus", "is not known"), ("jax", "pip install jax")])
def test_a_back_end_that_is_not_there(backend: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(bench.FaultError, match=words):
        bench.choose(backend)
    assert bench.choose("auto") == "numpy"


@pytest.mark.parametrize("backend", ["torch", pytest.param("tensorflow", marks=pytest.mark.tensorflow), "jax"])
def test_every_op_of_a_library(backend: str, tmp_path: Path) -> None:
    """Each in a process of its own: libraries print, warn and stay in memory."""
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    passes = "".join(CONVOLUTION.format("fp32", name) for name in bench.PASSES)
    ragged = CONVOLUTION.format("fp32", "forward").replace("forward,", "forward,7")
    cast = "elementwise,bf16,,,,,,cast,6000,,,,,,,,,,,,\n"
    (tmp_path / "shapes.csv").write_text(SHAPES + passes + ragged + "gemm,bf16,,8,8,8,n,,,,,,,,,,,,,,\n" + cast)
    command = [sys.executable, bench.__file__, "--backend", backend, "--device", "cpu", "--relative-error", "0.5"]
    places = ["--shapes", str(tmp_path / "shapes.csv"), "-o", str(tmp_path / "out.csv")]
    subprocess.run([*command, *places], check=True, capture_output=True, timeout=300)
    provenance = json.loads((tmp_path / "provenance.json").read_text())
    assert provenance["left_out"] == {}
    assert provenance["library"].startswith(backend)
    rows = read(tmp_path / "out.csv")
    assert {row["kernel"] for row in rows} == {*bench.KERNELS, bench.LAUNCH, bench.CAST, ""}
    assert {row["bytes"] for row in rows if row["kernel"] == bench.CAST} == {"6000"}


@pytest.mark.parametrize(("precision", "why"), [("bf16", "numpy has no bf16"), ("fp32", "to fp32 is not measured")])
def test_a_cast_that_is_none_or_that_nothing_here_can(folder: Path, precision: str, why: str) -> None:
    assert measure(folder, shapes=f"op_class,precision,kernel,bytes\nelementwise,{precision},cast,6000\n") == 0
    assert why in json.loads((folder / "provenance.json").read_text())["left_out"]["1"]


@pytest.mark.tensorflow
def test_pools_of_tensorflow(tmp_path: Path) -> None:
    rows = [
        {**POOL, "precision": "fp32", "stride_h": 2, "stride_w": 2, "kernel": kernel, "pass": what}
        for kernel in bench.POOLS for what in bench.PASSES[:2]
    ]  # fmt: skip
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "shapes.csv").write_text("\n".join(lines) + "\n")
    command = [sys.executable, bench.__file__, "--backend", "tensorflow", "--device", "cpu", "--relative-error", "0.5"]
    places = ["--shapes", str(tmp_path / "shapes.csv"), "-o", str(tmp_path / "out.csv")]
    subprocess.run([*command, *places], check=True, capture_output=True, timeout=300)
    found = read(tmp_path / "out.csv")
    assert [(row["kernel"], row["pass"]) for row in found] == [(row["kernel"], row["pass"]) for row in rows]
    assert all(float(row["time_s"]) > 0 and int(row["repeats"]) >= 1 for row in found)


def test_all_reduce_over_processes(tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    (tmp_path / "shapes.csv").write_text(
        "op_class,precision,bytes,ranks\ncollective,fp32,4000,2\ncollective,fp32,80,3\n"
    )
    command = [sys.executable, bench.__file__, "--backend", "torch", "--device", "cpu", "--all-reduce", "2"]
    places = ["--shapes", str(tmp_path / "shapes.csv"), "-o", str(tmp_path / "out.csv")]
    subprocess.run([*command, *places], check=True, capture_output=True, timeout=300)
    (row,) = read(tmp_path / "out.csv")
    assert (row["kernel"], row["ranks"], row["bytes"]) == ("all_reduce", "2", "4000")
    assert row["library"].startswith("torch ")
    assert row["library"].endswith("; gloo")


def test_options_have_defaults_for_a_kit() -> None:
    options = bench.arguments([])
    assert isinstance(options, argparse.Namespace)
    assert (options.shapes.name, options.output.name, options.backend) == ("shapes.csv", "measurements.csv", "auto")
