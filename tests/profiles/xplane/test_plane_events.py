"""Events of XPlane dumps: the fast reader equals the simple one on any order and form of events."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.profiles import xplane
from estimator.profiles.dump import Dump
from estimator.profiles.xplane import lines, ops, plane_events
from tests.profiles.xplane import plain_reader
from tests.profiles.xplane.dumps import NAMES, OP_STATS, accelerators, event, random_events, read_bytes, space
from tests.profiles.xplane.plain_reader import field


def read_fast_and_plain(content: bytes, tmp_path: Path, chunk: int = lines.CHUNK) -> tuple[object, object]:
    """What the fast and the plain reading find: calls and picoseconds by op, steps, busy picoseconds."""
    path = tmp_path / "t.xplane.pb"
    path.write_bytes(content)
    smallest, plane_events.CHUNK_BYTES = plane_events.CHUNK_BYTES, (chunk, chunk)
    try:
        profile = xplane.read([Dump(path)], Workload(name="t"))
    finally:
        plane_events.CHUNK_BYTES = smallest
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


def test_one_of_two_equal_kernels_has_the_operands(tmp_path: Path) -> None:
    rows = read_bytes(
        accelerators({"Stream #1": [event(2, 0, 9, *OP_STATS), event(3, 20, 9, *OP_STATS)]}), tmp_path
    ).ops
    assert rows["shapes"].notna().sum() == 1
    assert (rows["attributes"] == "helper=1").sum() == 1


def test_the_op_of_a_kernel_is_in_its_annotation(tmp_path: Path) -> None:
    annotation = field(1, 7) + field(5, "RemoteCall:RemoteCall::replica_3/dense/Relu:Relu#shape=(float[4])#")
    rows = read_bytes(accelerators({"Stream #1": [event(3, 0, 9, annotation)]}), tmp_path).ops
    assert rows[["op", "op_type", "kernel"]].iloc[0].tolist() == ["dense/Relu", "Relu", NAMES[2]]


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
