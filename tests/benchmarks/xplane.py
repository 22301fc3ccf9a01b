"""Reading a large XPlane dump, against protobuf's parse and a walk in Python: python tests/benchmarks/xplane.py

Generates dumps like TensorFlow's (threads of ops with shapes, allocations with many stats, executor noise), reads each
in fresh processes, and prints ratios of medians of three, peak memory over file size, time over size, and a plane of
more than 2 GiB. The results of both readings are compared to the last picosecond. Use an environment with the run-time
dependencies alone: pyarrow, which pandas imports wherever it is installed, takes 35 MiB.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.profiles.xplane import plain_reader  # noqa: E402
from tests.profiles.xplane.plain_reader import field, varint  # noqa: E402

MIB = 1 << 20
STEPS = 100
OPS = 300  # of one step
RUNS = 3


def events(seed: int) -> bytes:
    """One thread's events over STEPS steps."""
    rng = random.Random(seed)
    out, now = [], 0
    allocation = b"".join(field(4, field(1, 20 + i) + field(4, rng.randrange(10**9))) for i in range(8))
    for _ in range(STEPS):
        start, inside = now, []
        for op in range(OPS):
            duration = rng.randrange(10**6, 10**9)
            shape = field(4, field(1, 2) + field(7, 100 + op % 50))
            inside.append(field(4, field(1, op + 10) + field(2, now) + field(3, duration) + shape))
            if op % 4 == 0:
                inside.append(field(4, field(1, 4) + field(2, now + 1000) + field(3, 0) + allocation))
            inside.append(field(4, field(1, 5 + op % 3) + field(2, now + duration) + field(3, rng.randrange(10**5))))
            now += duration + 10**6
        out += [field(4, field(1, 1) + field(2, start) + field(3, now - start) + field(4, field(1, 1) + field(4, 1)))]
        out += inside
    return b"".join(out)


def metadata() -> bytes:
    names = {1: "train", 4: "MemoryAllocation", 5: "ExecutorState::Process", 6: "ExecutorPropagateOutputs", 7: "Other"}
    names |= {op + 10: f"model/layer_{op}/MatMul:_FusedMatMul" for op in range(OPS)}
    stats = {1: "step_num", 2: "shape", **{20 + i: f"allocation_{i}" for i in range(8)}}
    stats |= {100 + i: f"(float[100,{i + 1}];float[{i + 1},50])" for i in range(50)}
    out = [field(4, field(1, key) + field(2, field(1, key) + field(2, name))) for key, name in names.items()]
    out += [field(5, field(1, key) + field(2, field(1, key) + field(2, name))) for key, name in stats.items()]
    return b"".join(out)


def write_dump(path: Path, size: int) -> None:
    """One plane of at least ``size`` bytes: as many threads as it takes, each starting a little later."""
    blocks = [events(seed) for seed in range(4)]
    header = [field(2, "/host:CPU")]
    lines: list[tuple[bytes, bytes]] = []
    total = 0
    while total < size:
        number = len(lines)
        head = field(1, number + 1) + field(2, f"tf_Compute/{number}") + field(3, 10**9 + 1000 * number)
        lines.append((head, blocks[number % len(blocks)]))
        total += len(blocks[0])
    body = sum(len(varint(3 << 3 | 2)) + len(varint(len(h) + len(b))) + len(h) + len(b) for h, b in lines)
    tail = metadata()
    with path.open("wb") as file:
        file.write(varint(1 << 3 | 2) + varint(len(header[0]) + body + len(tail)) + header[0])
        for head, block in lines:
            file.write(varint(3 << 3 | 2) + varint(len(head) + len(block)) + head)
            file.write(block)
        file.write(tail)


def fast(path: Path) -> tuple[object, ...]:
    from estimator.core.types import Workload
    from estimator.profiles import xplane
    from estimator.profiles.dump import Dump

    profile = xplane.read([Dump(path)], Workload(name="benchmark"))
    ops, steps = profile.ops, profile.steps
    rows = zip(ops["op"], ops["kernel"], ops["shapes"], ops["calls"] * steps, ops["time_s"] * steps, strict=True)
    actual = {(op, kernel, shapes): (round(calls), round(1e12 * time_s)) for op, kernel, shapes, calls, time_s in rows}
    return actual, steps, round(1e12 * (profile.busy_step_s or 0) * steps)


def plain(path: Path) -> tuple[object, ...]:
    from estimator.profiles.xplane import ops

    calls, self_ps, busy, steps = plain_reader.read(path.read_bytes())
    shape_of = {text: ops.typed_shapes(text)[0] for text in {row[2] for row in calls}}
    actual = {(row[0], row[1], shape_of[row[2]]): (calls[row], self_ps[row]) for row in calls}
    return actual, steps, busy


def peak_memory() -> int:
    """The most memory that this process has held [B]; getrusage would count that of the process that started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def measure(way: str, path: Path) -> tuple[float, float]:
    """Seconds and peak memory [B] of one reading in a process of its own."""
    command = [sys.executable, __file__, way, str(path)]
    seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(peak)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.xplane.pb"
        write_dump(path, 200 * MIB)
        size = path.stat().st_size
        times: dict[str, list[tuple[float, float]]] = {"fast": [], "plain": []}
        for _ in range(RUNS):
            for way, actual in times.items():
                actual.append(measure(way, path))
        second = {way: statistics.median(t for t, _ in actual) for way, actual in times.items()}
        peak = max(peak for _, peak in times["fast"])
        print(f"{size / MIB:.0f} MiB: {second['plain'] / second['fast']:.1f} x as fast as parse + walk (goal 4)")
        print(f"peak memory {peak / size:.2f} x the file, {peak / MIB:.0f} MiB (goal: at most 0.5 x or 128 MiB)")
        print("results equal:", fast(path) == plain(path))
        write_dump(path, 400 * MIB)
        double = statistics.median(measure("fast", path)[0] for _ in range(RUNS))
        print(f"twice the size takes {double / second['fast']:.2f} x the time")
        write_dump(path, 2100 * MIB)
        seconds, peak = measure("fast", path)
        print(f"one plane of {path.stat().st_size / MIB:.0f} MiB: {seconds / second['fast']:.1f} x the time,", end=" ")
        print(f"{peak / MIB:.0f} MiB of memory")


if __name__ == "__main__" and len(sys.argv) == 3:
    start = time.perf_counter()
    {"fast": fast, "plain": plain}[sys.argv[1]](Path(sys.argv[2]))
    print(time.perf_counter() - start, peak_memory())
elif __name__ == "__main__":
    main()
