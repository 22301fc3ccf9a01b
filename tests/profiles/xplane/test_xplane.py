"""XPlane dumps: the fast reader equals the simple one on any order and form of events; real dumps; bad input."""

import contextlib
import itertools
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import read_profile, xplane
from estimator.profiles.dump import Dump
from estimator.profiles.xplane import lines, ops
from estimator.work import count_work
from tests.profiles.xplane import plain_reader
from tests.profiles.xplane.plain_reader import field

OPS = ("dense/Relu:_FusedMatMul", "dense/MatMul_1:_MklMatMul", "loss/Mul:Mul", "a/b:Sum")
SHAPES = ("(float[100,50];float[50,10])", "(float[];int32[2])", "", "(" + "float[3,4];" * 200 + "float[1])")
LAYERS = (29532, 1000, 500, 100, 50, 1)
PRODUCTS = 3 * 2 * 100 * sum(a * b for a, b in itertools.pairwise(LAYERS))


NAMES = ("train", *OPS, "MemoryAllocation", "ExecutorState::Process")


STATS = ("step_num", "shape", "other", *SHAPES)


def space(lines: list[list[bytes]], names: tuple[str, ...] = NAMES, stats: tuple[str, ...] = STATS) -> bytes:
    """A dump of a host with these lines, each a list of events."""
    out = field(2, "/host:CPU")
    for number, events in enumerate(lines):
        head = field(1, number + 1) + field(2, f"tf_Compute/{number}") + field(3, 10**18 + 7 * number)
        out += field(3, head + b"".join(field(4, event) for event in events))
    for key, name in enumerate(names, start=1):
        out += field(4, field(1, key) + field(2, field(1, key) + field(2, name)))
    for key, name in enumerate(stats, start=1):
        out += field(5, field(1, key) + field(2, field(1, key) + field(2, name)))
    return field(1, out)


def event(metadata: int, offset: int, duration: int, *stats: bytes) -> bytes:
    return field(1, metadata) + field(2, offset) + field(3, duration) + b"".join(field(4, stat) for stat in stats)


def random_events(rng: random.Random, count: int) -> list[bytes]:
    """Ops that follow or hold each other, with inline and referred shapes, long texts, negative values."""
    out, now = [], 0
    for _ in range(count):
        length = rng.choice([0, 1, 1000, 10**6, 10**12])
        shape = rng.choice(range(len(SHAPES)))
        stat = field(7, 4 + shape) if rng.random() < 0.5 else field(5, SHAPES[shape])
        stats = [field(1, 2) + stat] if rng.random() < 0.8 else []
        noise = field(1, 3) + field(4, rng.choice([-1, 0, 2**40]))
        out.append(event(2 + rng.randrange(len(OPS)), now, length, *stats, noise))
        if length > 100 and rng.random() < 0.5:
            out.append(event(2 + rng.randrange(len(OPS)), now + 10, length // 2, noise, *stats))
        if rng.random() < 0.3:
            out.append(event(6, now, 0, field(1, 3) + field(5, "x" * rng.randrange(300))))
        now += length + rng.randrange(3)
    return [event(1, 0, now + 1, field(1, 1) + field(4, 0)), *out]


def read_fast_and_plain(content: bytes, tmp_path: Path, chunk: int = lines.CHUNK) -> tuple[object, object]:
    """What the fast and the plain reading find: calls and picoseconds by op, steps, busy picoseconds."""
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(content)
    smallest, xplane.CHUNK_BYTES = xplane.CHUNK_BYTES, (chunk, chunk)
    try:
        profile = xplane.read([Dump(path)], Workload(name="t"))
    finally:
        xplane.CHUNK_BYTES = smallest
    rows, steps = profile.ops.astype(object).where(profile.ops.notna(), None), profile.steps
    fast = {
        (row.op, row.kernel, row.shapes): (round(row.calls * steps), round(1e12 * row.time_s * steps))
        for row in rows.itertuples()
    }
    calls, self_ps, busy, plain_steps = plain_reader.read(content)
    plain: dict[tuple[str, str, str | None], tuple[int, int]] = {}
    for row in calls:
        key = (row[0], row[1], ops.typed_shapes(row[2])[0])
        known = plain.get(key, (0, 0))
        plain[key] = known[0] + calls[row], known[1] + self_ps[row]
    assert profile.busy_step_s is not None
    return (fast, steps, round(1e12 * profile.busy_step_s * steps)), (plain, plain_steps, busy)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [1, 100, 1000, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_plain_reading_across_chunk_borders(seed: int, chunk: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    content = space([random_events(rng, 60) for _ in range(3)])
    fast, plain = read_fast_and_plain(content, tmp_path, chunk)
    assert fast == plain


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_plain_reading_of_shuffled_events(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = [random_events(rng, 60) for _ in range(2)]
    for line in lines:
        rng.shuffle(line)
    fast, plain = read_fast_and_plain(space(lines), tmp_path, 500)
    assert fast == plain


@pytest.mark.slow
@settings(max_examples=40)  # of eight events each
@given(st.data())
def test_equals_the_plain_reading_of_fields_in_any_order(data: st.DataObject) -> None:
    stats = [field(4, field(1, 2) + field(7, 4)), field(4, field(1, 3) + field(4, -7))]
    lines = []
    for number in range(8):  # no two start at once, for which lies in which would then be open
        parts = [field(1, 2), field(2, 10**5 * (number + 1)), field(3, 10000), *stats]
        chosen = data.draw(st.lists(st.sampled_from(parts), unique=True)) if number > 6 else parts
        lines.append(b"".join(data.draw(st.permutations(chosen))))
    regular = event(3, 2 * 10**6, 5, field(1, 2) + field(7, 5))
    with tempfile.TemporaryDirectory() as folder:
        fast, plain = read_fast_and_plain(space([[*lines, regular]]), Path(folder), 40)
    assert fast == plain


def test_shapes_precision_phase_and_steps(tmp_path: Path) -> None:
    names = ("train", "layer/MatMul:MatMul", "gradient_tape/layer/MatMul_1:_MklMatMul", "sgd/Sub:AssignSubVariableOp")
    events = [
        event(1, 0, 100, field(1, 1) + field(4, 0)),
        event(2, 1, 30, field(1, 2) + field(5, "(bfloat16[100,50];bfloat16[50,10])")),
        event(3, 31, 40, field(1, 2) + field(5, "(float[100,50];float[100,10])")),
        event(4, 80, 10, field(1, 2) + field(5, "(;float[50,10])")),
        event(1, 100, 100, field(1, 1) + field(4, 1)),
        event(2, 101, 50, field(1, 2) + field(5, "(bfloat16[100,50];bfloat16[50,10])")),
    ]
    profile = read_bytes(space([events], names), tmp_path)
    rows = profile.ops.set_index("op")
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(100e-12)
    assert profile.busy_step_s == pytest.approx(65e-12)
    assert rows.loc["layer/MatMul", ["shapes", "precision", "phase"]].tolist() == ["100x50;50x10", "bf16", "forward"]
    assert rows.at["layer/MatMul", "time_s"] == pytest.approx(40e-12)
    assert rows.at["gradient_tape/layer/MatMul_1", "phase"] == "backward"
    assert rows.loc["sgd/Sub", ["shapes", "phase"]].tolist() == ["unknown;50x10", "optimizer"]


def read_bytes(content: bytes, folder: Path) -> Profile:
    path = folder / "t.xplane.pb"
    path.write_bytes(content)
    return read_profile(path, batch=100)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (space([[event(2, 5, -1)]]), "has a duration of -1 ps"),
        (space([[event(2, 5, 2**62)]]), "expected 0 to"),
        (space([[event(2, -(2**62), 1)]]), "has a start of"),
        (space([[event(6, 5, 1)]]), "no op was recorded"),
        (space([[event(2, 5, 0)]]), "no op took any time"),
        (space([[event(2, 5, 9)]])[:-40], "copy it again"),
        (space([[b"\x08"]]), "copy it again"),
        (field(1, field(2, "/host:CPU") + field(3, 7)), "expected a message"),
    ],
)
def test_bad_dumps_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=message) as error:
        read_bytes(content, tmp_path)
    assert str(tmp_path / "t.xplane.pb") in str(error.value)


SMALL = space([random_events(random.Random(1), 8)])


@pytest.mark.slow
@given(st.binary(max_size=6), st.integers(0, len(SMALL)), st.integers(0, 6))
def test_only_estimator_errors_come_out_of_damaged_dumps(patch: bytes, at: int, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.xplane.pb"
        path.write_bytes(SMALL[:at] + patch + SMALL[at + cut :])
        with contextlib.suppress(EstimatorError):
            xplane.read([Dump(path)], Workload(name="t"))


def test_kernels_of_an_accelerator_count_and_one_per_op_has_the_operands(tmp_path: Path) -> None:
    names = ("split_kernel", "gemm_kernel", "MatMul:MatMul", "train", "MemcpyH2D")
    stats = ("step_num", "tf_op", "tensor_shapes", "layer/MatMul:MatMul", "(float[100,50];float[50,10])")
    op_stats = [field(1, 2) + field(7, 4), field(1, 3) + field(7, 5)]
    stream = [event(1, 0, 5, *op_stats), event(2, 10, 40, *op_stats), event(5, 60, 7)]
    device = field(2, "/device:GPU:0") + field(
        3, field(2, "Stream #1(Compute)") + b"".join(field(4, e) for e in stream)
    )
    device += field(3, field(2, "XLA Modules") + field(4, event(2, 0, 1000)))
    host = field(2, "/host:CPU") + field(3, field(2, "python") + field(4, event(4, 0, 70, field(1, 1) + field(4, 3))))
    host = field(3, field(2, "launch") + field(4, event(3, 0, 500))) + host
    for table, tag in ((names, 4), (stats, 5)):
        for key, name in enumerate(table, start=1):
            entry = field(tag, field(1, key) + field(2, field(1, key) + field(2, name)))
            device, host = device + entry, host + entry
    rows = read_bytes(field(1, device) + field(1, host), tmp_path).ops.set_index("kernel")
    assert rows["time_s"].to_dict() == pytest.approx({"split_kernel": 5e-12, "gemm_kernel": 40e-12, "MemcpyH2D": 7e-12})
    assert rows["shapes"].dropna().to_dict() == {"gemm_kernel": "100x50;50x10"}
    assert rows.at["gemm_kernel", "op_type"] == "MatMul"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("kind", "steps"), [("tf2_plain_h2", 5), ("jax", 3)])
def test_steps_and_times_of_real_dumps(kind: str, steps: int, threads: int, public_data: Callable[[str], Path]) -> None:
    folder = public_data(f"profiles/p1b3_{kind}_t{threads}")
    manifest = json.loads((folder / "manifest.json").read_text())
    profiled = manifest.get("profiled_ms") or manifest["step_ms_profiled"]
    profile = read_profile(folder / "vm.xplane.pb", batch=100)
    assert profile.steps == steps
    assert profile.wall_step_s == pytest.approx(sum(profiled) / steps / 1e3, rel=0.02)
    if threads == 1:
        assert profile.ops["time_s"].sum() == pytest.approx(profile.wall_step_s, rel=0.02)


@pytest.mark.parametrize(
    ("folder", "less"),
    [
        ("p1b3_tf2_plain_h3_t1_tf216", 0),
        ("p1b3_tf2_xla_h3_t1", 2 * 100 * 50),  # a product of depth 1 is compiled to a multiplication
        ("p1b3_tf2_xla_h2_t2", 2 * 100 * 50),
        ("p1b3_jax_t1", 2 * 100 * 50),
        ("p1b3_jax_t2", 2 * 100 * 50),
    ],
)
def test_flop_of_real_dumps_with_shapes(folder: str, less: int, public_data: Callable[[str], Path]) -> None:
    profile = read_profile(public_data(f"profiles/{folder}") / "vm.xplane.pb", batch=100)
    work = count_work(profile.ops, profile.workload).work
    gemm = work[work["op_class"] == "gemm"]
    assert gemm["flop"].sum() == PRODUCTS - 2 * 100 * LAYERS[0] * LAYERS[1] - less  # no gradient of the input


@pytest.mark.parametrize("folder", ["p1b3_jax_t1", "p1b3_jax_t2"])
def test_the_program_of_jax_tells_parameters_and_states(folder: str, public_data: Callable[[str], Path]) -> None:
    dump = public_data(f"profiles/{folder}") / "vm.xplane.pb"
    workload = read_profile(dump, batch=100).workload
    assert workload.parameters == sum(a * b + b for a, b in itertools.pairwise(LAYERS))
    assert workload.optimizer_slots == 0  # plain gradient descent
    stated = xplane.read([Dump(dump)], Workload(name="toy", parameters=5, optimizer_slots=1)).workload
    assert (stated.parameters, stated.optimizer_slots) == (5, 1)


@pytest.mark.parametrize(
    ("more", "mode"), [(None, "inference"), ("gradient_tape/dense/MatMul:MatMul", "training"), ("x:Sum", "inference")]
)
def test_inference_is_told_from_training(more: str | None, mode: str, tmp_path: Path) -> None:
    names = ("train", "dense/MatMul:MatMul", "dense/Relu:Relu", more or "other/Mul:Mul")
    events = [event(number, 10 * number, 9) for number in range(2, 5)]
    assert read_bytes(space([events], names), tmp_path).workload.mode == mode


def test_kernels_that_no_framework_names_are_of_a_training(tmp_path: Path) -> None:
    profile = read_bytes(accelerators({"Stream #1": [event(6, 0, 9)]}), tmp_path)
    assert (profile.workload.framework, profile.workload.mode) == (None, "training")


@pytest.mark.parametrize("folder", ["p1b3_tf2_xla_h3_t1", "p1b3_tf2_xla_h2_t2"])
def test_tensorflow_is_known_by_its_programs_of_xla(folder: str, public_data: Callable[[str], Path]) -> None:
    workload = read_profile(public_data(f"profiles/{folder}") / "vm.xplane.pb", batch=100).workload
    assert (workload.framework, workload.mode) == ("TensorFlow", "training")


def accelerators(*devices: dict[str, list[bytes]], host: bytes = b"", own: bytes = b"") -> bytes:
    """A dump of devices, each with its lines' events, which name kernels of NAMES."""
    own_stats = ("memcpy_details", "annotation", "clock_rate", "core_count", "compute_cap_major")
    stats = ("step_num", "tf_op", "tensor_shapes", "layer/MatMul:MatMul", "(float[100,50];float[50,10])", *own_stats)
    tables = [(NAMES, 4), (stats, 5)]
    metadata = b"".join(
        field(tag, field(1, key) + field(2, field(1, key) + field(2, name)))
        for table, tag in tables
        for key, name in enumerate(table, start=1)
    )
    planes = [
        field(2, f"/device:GPU:{number}")
        + b"".join(field(3, field(2, name) + b"".join(field(4, e) for e in events)) for name, events in lines.items())
        for number, lines in enumerate(devices)
    ]
    return b"".join(field(1, plane + metadata + own) for plane in planes) + (field(1, host + metadata) if host else b"")


OP_STATS = [field(1, 2) + field(7, 4), field(1, 3) + field(7, 5)]


def test_one_of_two_equal_kernels_has_the_operands(tmp_path: Path) -> None:
    rows = read_bytes(
        accelerators({"Stream #1": [event(2, 0, 9, *OP_STATS), event(3, 20, 9, *OP_STATS)]}), tmp_path
    ).ops
    assert rows["shapes"].notna().sum() == 1
    assert (rows["attributes"] == "helper=1").sum() == 1


def test_devices_of_one_process_are_its_ranks(tmp_path: Path) -> None:
    lines = [{"Stream #1": [event(2, 0, time, *OP_STATS)]} for time in (10, 30)]
    profile = read_bytes(accelerators(*lines), tmp_path)
    assert profile.ops["time_s"].tolist() == pytest.approx([20e-12])
    assert profile.ops["time_spread_s"].tolist() == pytest.approx([200**0.5 * 1e-12])
    assert profile.ops["calls"].tolist() == [1]
    assert "the step is the mean over 2 devices of this process" in str(profile.warnings)


def test_the_op_of_a_kernel_is_in_its_annotation(tmp_path: Path) -> None:
    annotation = field(1, 7) + field(5, "RemoteCall:RemoteCall::replica_3/dense/Relu:Relu#shape=(float[4])#")
    rows = read_bytes(accelerators({"Stream #1": [event(3, 0, 9, annotation)]}), tmp_path).ops
    assert rows[["op", "op_type", "kernel"]].iloc[0].tolist() == ["dense/Relu", "Relu", NAMES[2]]


def test_a_dump_that_was_saved_as_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match=r"damaged: a program saved it as UTF-8 text.* U\+FFFD"):
        read_bytes(SMALL.decode("utf-8", "replace").encode(), tmp_path)


def test_streams_of_a_gpu_count_but_derived_lines_do_not(tmp_path: Path) -> None:
    lines = {"Stream #1": [event(2, 0, 9), event(3, 5, 10)], "XLA Ops": [event(2, 0, 9)], "Steps": [event(4, 0, 99)]}
    assert read_bytes(accelerators(lines), tmp_path).ops["time_s"].sum() == pytest.approx(19e-12)  # streams overlap


def test_ops_of_other_accelerators_nest(tmp_path: Path) -> None:
    lines = {"XLA Ops": [event(2, 0, 100), event(3, 10, 30)], "XLA Modules": [event(4, 0, 100)]}
    times = read_bytes(accelerators(lines), tmp_path).ops.set_index("kernel")["time_s"]
    assert sorted(times) == pytest.approx([30e-12, 70e-12])


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize(("before", "behind"), [(True, False), (False, True), (True, True)])
def test_ops_of_the_host_outside_of_its_steps_are_left_out(
    before: bool, behind: bool, in_order: bool, tmp_path: Path
) -> None:
    steps = [event(1, 1000 + 100 * number, 90, field(1, 1) + field(4, number)) for number in range(2)]
    ops = [event(3, 1000, 50), event(3, 1095, 30)]  # the time between two marks is of the first
    events = [event(2, 0, 1000)] * before + [*steps, *ops] + [event(2, 1190, 9)] * behind
    profile = read_bytes(space([events if in_order else events[::-1]]), tmp_path)
    assert profile.ops[["op", "calls", "time_s"]].to_numpy().tolist() == [
        [OPS[1].split(":")[0], 1.0, pytest.approx(40e-12)]
    ]
    assert profile.wall_step_s == pytest.approx(95e-12)
    share = round(100 * (1000 * before + 9 * behind) / (1000 * before + 9 * behind + 80))
    assert f"{share} % of the ops' time lies outside the steps" in str(profile.warnings)


def runs_and_marks(*runs: tuple[int, int], marks: int, later: int) -> bytes:
    """A host that calls a program in marks of 10 ns each; its runs, and another program's later one."""
    stats = ("step_num", "run_id", "program_id", "hlo_op")
    names = ("train", "dot.1", "copy.2")
    called = [event(1, 10**4 * at, 10**4, field(1, 1) + field(4, at)) for at in range(marks)]
    ran = [
        event(2, start, end - start, *(field(1, 2 + place) + value for place, value in enumerate(
            (field(4, number), field(4, 40), field(5, "dot.1"))
        ))) for number, (start, end) in enumerate(runs)
    ]  # fmt: skip
    ran.append(event(3, later, 10, field(1, 4) + field(5, "copy.2")))
    return space([called, ran], names, stats).replace(field(3, 10**18 + 7), field(3, 10**18))


def test_a_program_that_runs_behind_its_calls_sets_the_step(tmp_path: Path) -> None:
    runs = [(10**5 * at + 10, 10**5 * at + 99_010) for at in range(3)]
    profile = read_bytes(runs_and_marks(*runs, marks=3, later=10**6), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist(), profile.ops["calls"].tolist()) == (3, ["dot.1"], [1.0])
    assert profile.wall_step_s == pytest.approx(100e-9)
    assert profile.busy_step_s == pytest.approx(99e-9)


def test_runs_without_marks_count_as_steps_and_are_noted(tmp_path: Path) -> None:
    profile = read_bytes(runs_and_marks((0, 80), (100, 180), marks=0, later=190), tmp_path)
    assert profile.steps == 2
    assert profile.wall_step_s == pytest.approx(90e-12)
    assert "each run of the program that ran longest counts as a step, 2 in all" in str(profile.warnings)


def test_turns_of_loops_over_steps_are_told_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xplane.ops, "turns_of_steps", lambda *_: 8)
    assert read_bytes(runs_and_marks((0, 80), (100, 180), marks=0, later=190), tmp_path).steps == 8


def test_runs_of_an_evaluation_behind_the_steps_are_left_out(tmp_path: Path) -> None:
    def run(program: int, number: int, start: int, duration: int) -> bytes:
        stats = ((1, number), (2, program))
        return event(program, start, duration, *(field(1, 3) + field(5, f"op.{program}"),), *(
            field(1, stat) + field(4, value) for stat, value in stats
        ))  # fmt: skip

    ran = [run(1, at, 100 * at, 80) for at in range(4)] + [run(2, at, 400 + 50 * at, 40) for at in range(3)]
    content = space([ran], ("train", "eval"), ("run_id", "program_id", "hlo_op"))
    profile = read_bytes(content.replace(field(3, 10**18 + 7), field(3, 10**18)), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist(), profile.ops["calls"].tolist()) == (4, ["op.1"], [1.0])
    assert "3 runs of 1 other program(s) ran several in a row" in str(profile.warnings)
    assert "27 % of the ops' time lies outside the steps" in str(profile.warnings)


def test_a_processor_that_stands_for_devices_is_as_many_ranks(tmp_path: Path) -> None:
    stats = ("hlo_op", "device_ordinal")
    ran = [
        [event(1, 50 * device, 80, field(1, 1) + field(5, "dot.1"), field(1, 2) + field(4, device))]
        for device in (0, 1)
    ]
    profile = read_bytes(space(ran, ("dot",), stats), tmp_path)
    assert (profile.ranks, profile.ops["calls"].tolist()) == (2, [1.0])
    assert profile.ops["time_s"].tolist() == pytest.approx([80e-12])
    assert profile.busy_step_s == pytest.approx(80e-12)
    assert "the mean over 2 devices for which this processor stands" in str(profile.warnings)


def test_refuses_marks_around_nothing(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="no op ran inside its steps"):
        read_bytes(runs_and_marks(marks=2, later=10**6), tmp_path)


def test_ops_between_marks_of_another_name_are_of_no_step(tmp_path: Path) -> None:
    names = ("train", "eval", "a:Mul", "b:Sum")
    marks = [event(1, start, 100, field(1, 1) + field(4, start)) for start in (0, 100, 300)]
    marks.append(event(2, 200, 90, field(1, 1) + field(4, 0)))
    ops = [*(event(3, start, 30) for start in (0, 100, 300)), event(4, 210, 50)]
    profile = read_bytes(space([marks, ops], names).replace(field(3, 10**18 + 7), field(3, 10**18)), tmp_path)
    assert (profile.steps, profile.ops["op"].tolist()) == (3, ["a"])
    assert profile.wall_step_s == pytest.approx(100e-12)
    assert "the 3 of 'train', which last longest in all, count as steps, those of 'eval' do not" in str(
        profile.warnings
    )


def test_sums_of_times_that_overflow_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="expected days at most"):
        read_bytes(space([[event(2, 0, 2**60)] for _ in range(5)]), tmp_path)


def test_input_is_the_steps_wait_and_not_the_threads_that_prepare_it(tmp_path: Path) -> None:
    names = ("train", "IteratorGetNextOp::DoCompute", "map/Mul:Mul", "dense/MatMul:MatMul")
    python = [event(1, 0, 10**6, field(1, 1) + field(4, 0)), event(2, 10, 60)]
    content = space([python, [event(3, 0, 90)], [event(4, 70, 30)]], names)
    content = content.replace(b"tf_Compute/1", b"tf_data_pool")
    times = read_bytes(content, tmp_path).ops.set_index("op")["time_s"].to_dict()
    assert times == pytest.approx({"IteratorGetNext": 60e-12, "dense/MatMul": 30e-12})


def test_a_traced_function_waits_for_input_on_a_thread_of_its_own(tmp_path: Path) -> None:
    names = ("train", "IteratorGetNextOp::DoCompute", "map/Mul:Mul", "dense/MatMul:MatMul")
    at = [10**5 - 7000 * number for number in range(4)]  # one time on each line
    python = [event(1, 0, 10**6, field(1, 1) + field(4, 0)), event(4, at[0] + 100, 30)]
    first, second = [event(3, at[1], 5), event(2, at[1] + 10, 60)], [event(2, at[2] + 20, 40)]  # see one wait
    content = space([python, first, second, [event(2, at[3] + 80, 10)]], names)
    for number in range(1, 4):
        content = content.replace(b"tf_Compute/%d" % number, b"tf_data_it/%d" % number)
    table = read_bytes(content, tmp_path).ops.set_index("op")
    assert table["time_s"].to_dict() == pytest.approx({"IteratorGetNext": 70e-12, "dense/MatMul": 30e-12})
    assert table["shared_s"].to_dict() == pytest.approx(table["time_s"].to_dict())
    assert table["calls"]["IteratorGetNext"] == 3


def test_calls_of_the_function_that_took_longest_are_steps_without_marks(tmp_path: Path) -> None:
    names = ("EagerLocalExecute: __inference_train_1", "EagerLocalExecute: __inference_seed_2", "dense/MatMul:MatMul")
    calls = [event(2, 0, 10), *(event(1, 100 * n, 90) for n in (1, 2, 3))]
    profile = read_bytes(space([calls, [event(3, 60 * n, 30) for n in (1, 2, 3)]], names), tmp_path)
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx(290e-12 / 3)
    assert profile.ops["time_s"].to_list() == pytest.approx([30e-12])
    assert "call of the function that took longest counts as a step, 3 in all" in str(profile.warnings)


def test_ops_that_tensorflow_ran_eagerly_take_their_own_time(tmp_path: Path) -> None:
    types = ("MatMul", "Sub", "IteratorGetNext", "MakeIterator", "__inference_f_1")
    names = ("train", *(f"EagerLocalExecute: {name}" for name in types), "IteratorGetNextOp::DoCompute", "f/Mul:Mul")
    waits = [event(4, 0, 50), event(7, 10, 30), event(5, 60, 9)]
    computes = [event(2, 100, 40), event(3, 110, 10), event(6, 200, 90), event(8, 220, 50), event(2, 300, 5)]
    content = space([[event(1, 0, 400, field(1, 1) + field(4, 0)), *waits, *computes]], names)
    profile = read_bytes(content, tmp_path)
    table = profile.ops.set_index("op")
    expected = {"IteratorGetNext": 30e-12, "MatMul": 35e-12, "Sub": 10e-12, "f/Mul": 50e-12}
    assert table["time_s"].to_dict() == pytest.approx(expected)
    assert table["calls"]["MatMul"] == 2
    assert profile.workload.framework == "TensorFlow"


def test_an_evaluation_between_steps_is_no_part_of_them(tmp_path: Path) -> None:
    names = ("EagerLocalExecute: __inference_train_1", "EagerLocalExecute: __inference_eval_2", "dense/MatMul:MatMul")
    trains, evals = (0, 100, 600), (300, 400)
    calls = [(1, 50, start) for start in trains] + [(2, 40, start) for start in evals]
    python = [event(number, 10**5 + start, length) for number, length, start in sorted(calls, key=lambda call: call[2])]
    runs = [event(3, 10**5 - 7000 + start + 10, 30) for start in sorted((*trains, *evals))]
    profile = read_bytes(space([python, runs], names), tmp_path)
    assert profile.steps == 3
    assert profile.wall_step_s == pytest.approx((100 + 50 + 50) * 1e-12 / 3)
    assert profile.ops["calls"].to_list() == [1]
    assert "2 calls of '__inference_eval_2' ran several in a row" in str(profile.warnings)
