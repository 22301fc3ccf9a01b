"""A dump of any format that is cut off or garbled is read or refused; no other exception leaves a reader."""

import gzip
import importlib
import json
import random
from pathlib import Path

import pytest
import yaml

from estimator.core.errors import EstimatorError
from estimator.profiles import READERS, read_profile
from estimator.work import count_work
from tests.conftest import ROOT
from tests.profiles.layers.models import SMALL
from tests.profiles.test_op_table import TABLE
from tests.profiles.tfprof.test_scope import SCOPE

RUN = ROOT / "tests" / "data" / "same_run"
STEP = {"ph": "X", "name": "dot", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"hlo_op": "dot.1"}}


def unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


DUMPS = {  # a small one of each reader's format
    "op_table": TABLE.encode(),
    "tfprof.text": (RUN / "session" / "op.txt").read_bytes(),
    "tfprof.scope": SCOPE.encode(),
    "tfprof.step_stats": unzipped(RUN / "session" / "one_step.pb.gz"),
    "tfprof.proto": unzipped(RUN / "session" / "profile.gz"),
    "xplane": unzipped(RUN / "both" / "host.xplane.pb.gz"),
    "tfprof.timeline": unzipped(RUN / "session" / "timeline.json.gz"),
    "kineto": unzipped(ROOT / "tests" / "data" / "kineto_cpu.json.gz"),
    "jax_trace": json.dumps({"traceEvents": [STEP, {**STEP, "ts": 5}]}).encode(),
    "layers": yaml.safe_dump(SMALL).encode(),
}


@pytest.fixture(params=READERS)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def read_or_refuse(content: bytes, path: Path) -> None:
    """Read any content as the program does: a profile whose work can be counted, or an EstimatorError."""
    path.write_bytes(content)
    try:
        profile = read_profile(path, batch=4)
        count_work(profile.ops, profile.workload)
    except EstimatorError as error:
        assert error.faults


def test_the_whole_dump_is_of_its_format(name: str) -> None:
    first = next(n for n in READERS if importlib.import_module(f"estimator.profiles.{n}").recognises(DUMPS[name]))
    assert first == name


def test_what_is_left_of_a_dump(name: str, tmp_path: Path) -> None:
    whole = DUMPS[name]
    head = whole.index(b"\n") + 1 if b"\n" in whole else 16
    for size in (0, 1, 16, head, len(whole) // 2, len(whole) - 1):
        read_or_refuse(whole[:size], tmp_path / "dump")
    zipped = gzip.compress(whole)
    read_or_refuse(zipped[: len(zipped) // 2], tmp_path / "dump")


def test_some_bytes_are_others(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    for _ in range(5):
        garbled = bytearray(DUMPS[name])
        for at in rng.choices(range(len(garbled)), k=5):
            garbled[at] = rng.randrange(256)
        read_or_refuse(bytes(garbled), tmp_path / "dump")
