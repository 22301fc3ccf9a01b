"""The reader that docs/how-to/format.md shows reads a dump, through all that any reader's profile passes."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import estimator.profiles
from estimator.core.errors import EstimatorError
from estimator.profiles import read_profile
from estimator.work import count_work
from tests.conftest import ROOT
from tests.docs.pages import blocks

(SHOWN,) = (block for block in blocks(ROOT / "docs" / "how-to" / "format.md") if block.language == "python")
NAME = "estimator.profiles.acme_trace"


def kernel(op: str, stream: int, start: int, duration: int, *dims: list[int]) -> dict[str, Any]:
    return {"op": op, "stream": stream, "start": start, "duration": duration, "dims": dims, "dtype": "fp32"}


def step(start: int) -> list[dict[str, Any]]:
    """Two kernels of one stream, and one of another that overlaps both [ns]."""
    return [
        kernel("aten::mm", 7, start + 1000, 4000, [64, 32], [32, 16]),
        kernel("aten::relu", 7, start + 5000, 2000, [64, 16]),
        kernel("aten::add", 9, start + 4000, 3000, [64, 16], []),
    ]


TRACE = {
    "acme": 1, "device": "ACME A1", "batch": 64, "framework": "PyTorch", "steps": [[0, 10_000], [10_000, 20_000]],
    "kernels": step(10_000) + step(0),
}  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dump that the page's reader, entered in READERS, can read."""
    module = ModuleType(NAME)
    monkeypatch.setitem(sys.modules, NAME, module)
    exec(compile(SHOWN.text, str(SHOWN), "exec"), vars(module))
    monkeypatch.setattr(estimator.profiles, "READERS", ("acme_trace", *estimator.profiles.READERS))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(TRACE), encoding="utf-8")
    return path


def test_the_reader_of_the_page_reads_a_dump(dump: Path) -> None:
    profile = read_profile(dump)
    assert (profile.steps, profile.device, profile.device_recorded) == (2, None, "ACME A1")
    assert (profile.workload.batch_size, profile.workload.framework) == (64, "PyTorch")
    assert profile.wall_step_s == pytest.approx(10e-6)
    assert profile.busy_step_s == pytest.approx(6e-6)
    times = profile.ops.set_index("op")["time_s"].to_dict()
    assert times == pytest.approx({"aten::mm": 4e-6, "aten::add": 3e-6, "aten::relu": 2e-6})
    assert profile.ops["shared_s"].sum() == pytest.approx(6e-6)
    assert count_work(profile.ops, profile.workload).work["flop"].iloc[0] == 2 * 64 * 32 * 16
    assert profile.timeline is not None
    by_lane = profile.timeline.events.groupby("lane")["duration_s"].sum()
    assert by_lane.drop("host").to_dict() == pytest.approx({"gpu:0/7": 6e-6, "gpu:0/9": 3e-6})
    assert read_profile(dump, batch=8).workload.batch_size == 8


def test_it_refuses_a_dump_that_is_cut_off(dump: Path) -> None:
    whole = dump.read_bytes()
    for size in range(0, len(whole), 50):
        dump.write_bytes(whole[:size])
        with pytest.raises(EstimatorError):
            read_profile(dump)
