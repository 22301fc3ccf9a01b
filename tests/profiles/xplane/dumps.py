"""XPlane dumps made of a few events."""

import random
from pathlib import Path

from estimator.core.types import Profile
from estimator.profiles import read_profile
from tests.profiles.xplane.plain_reader import field

OPS = ("dense/Relu:_FusedMatMul", "dense/MatMul_1:_MklMatMul", "loss/Mul:Mul", "a/b:Sum")
SHAPES = ("(float[100,50];float[50,10])", "(float[];int32[2])", "", "(" + "float[3,4];" * 200 + "float[1])")
NAMES = ("train", *OPS, "MemoryAllocation", "ExecutorState::Process")
STATS = ("step_num", "shape", "other", *SHAPES)
OP_STATS = [field(1, 2) + field(7, 4), field(1, 3) + field(7, 5)]


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


def read_bytes(content: bytes, folder: Path) -> Profile:
    path = folder / "t.xplane.pb"
    path.write_bytes(content)
    return read_profile(path, batch=100)
