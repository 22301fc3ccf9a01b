"""Real dumps of other projects, judged by what was counted from their raw events: manifest.csv beside them."""

import csv
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile
from estimator.devices.recorded import recorded_devices
from estimator.profiles import read_profile
from estimator.work import count_work
from tests.conftest import SHARED

MANIFEST = "dumps/manifest.csv"
STEP, TIME, FLOP = 0.05, 0.03, 0.02  # how far a reader may be off
CLASSES = {"gemm_flop_step": "gemm", "conv_flop_step": "convolution", "attention_flop_step": "attention"}
KNOWN_FAULTS: dict[str, str] = {}  # dumps that are still read wrongly, and why; whoever mends one takes it out
ONE_OF_SEVERAL = {  # one rank of a job, whose trace states how many there were
    "cpu-training-gloo", "ddp-v100-2ranks", "dlrm-a100-compiled", "nccl-a100-2ranks", "resnet-act-ckpt-mi300x",
}  # fmt: skip


def manifest(path: Path = SHARED / MANIFEST) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.is_file() else []


READ = [row for row in manifest() if not row["refusal"]]
KINETO = [row for row in READ if row["format"] == "Kineto JSON"]


@cache
def read(file: str) -> Profile:
    return read_profile(SHARED / "dumps" / file)


def judged(rows: list[dict[str, str]]) -> list[object]:
    """A parameter for each dump; of one that is known to be read wrongly a failure is expected."""
    marks = {name: [pytest.mark.xfail(reason=why, strict=True)] for name, why in KNOWN_FAULTS.items()}
    return [pytest.param(row, id=row["name"], marks=marks.get(row["name"], [])) for row in rows]


def number(text: str) -> float | None:
    return float(text) if text else None


def off(have: float | None, want: float) -> float:
    """By which share a number is off; a zero must be one."""
    return (0.0 if not have else np.inf) if want == 0 else abs((have or 0.0) / want - 1.0)


def faults(profile: Profile, row: Mapping[str, str]) -> list[str]:
    """What a reader has wrong of a dump."""
    work = count_work(profile.ops, profile.workload, profile.where).work
    flop = work["flop"].groupby(work["op_class"].astype(str)).sum()
    actual = {
        "step": (profile.wall_step_s, number(row["step_gpu_pitch_s"]) or number(row["step_host_s"]), STEP),
        "busy": (profile.busy_step_s, number(row["gpu_busy_step_s"]), TIME),
        "sum": (float(profile.ops["time_s"].sum()), number(row["gpu_sum_step_s"]), TIME),
        **{name: (float(flop.get(name, 0.0)), number(row[column]), FLOP) for column, name in CLASSES.items()},
    }
    wrong = [
        f"{name} {have} of {want}"
        for name, (have, want, by) in actual.items()
        if want is not None and off(have, want) > by
    ]
    if row["steps"] and profile.steps != int(row["steps"]):
        wrong.append(f"steps {profile.steps} of {row['steps']}")
    ranks = profile.world_size if row["name"] in ONE_OF_SEVERAL else profile.ranks
    if row["ranks"] and ranks != int(row["ranks"]):
        wrong.append(f"ranks {ranks} of {row['ranks']}")
    return wrong


def is_refused(row: Mapping[str, str], text: str) -> bool:
    """Whether a text holds any of the words with which the dump must be refused."""
    return any(words.lower() in text.lower() for words in row["refusal"].split(":")[0].split("|"))


def test_the_manifest_is_at_hand(public_data: Callable[[str], Path]) -> None:
    assert {row["name"] for row in manifest(public_data(MANIFEST))} >= KNOWN_FAULTS.keys()


@pytest.mark.parametrize("row", judged(READ))
def test_a_real_dump_is_read_as_counted_from_its_events(row: Mapping[str, str]) -> None:
    assert not faults(read(row["file"]), row)


@pytest.mark.parametrize("row", judged([row for row in manifest() if row["refusal"]]))
def test_a_file_that_is_no_profile_is_refused_with_what_it_is(row: Mapping[str, str]) -> None:
    with pytest.raises(EstimatorError) as error:
        read_profile(SHARED / "dumps" / row["file"])
    sentence = str(error.value).partition(": ")[2]  # behind the path
    assert is_refused(row, sentence), sentence


@pytest.mark.parametrize("row", judged(KINETO))
def test_the_device_is_named_as_in_the_dump(row: Mapping[str, str]) -> None:
    named = row["device_recorded"] if not row["device_recorded"].startswith("(") else ""
    assert (read(row["file"]).device_recorded or "") == named


@pytest.mark.parametrize("row", judged([row for row in READ if row["device"] and not row["device"].startswith("~")]))
def test_the_device_of_a_dump_is_found_in_the_catalogue(row: Mapping[str, str]) -> None:
    """By its name, or by its compute units and memory."""
    assert [device.name for device in recorded_devices(read(row["file"]))] == [row["device"]]


@pytest.mark.parametrize("row", judged(READ))
def test_the_framework_is_recognised_by_the_dump(row: Mapping[str, str]) -> None:
    assert read(row["file"]).workload.framework == row["framework"]


@pytest.mark.parametrize("row", judged([row for row in READ if row["mode"] != "unknown"]))
def test_inference_is_distinguished_from_training(row: Mapping[str, str]) -> None:
    assert read(row["file"]).workload.mode == row["mode"]


@pytest.mark.parametrize(
    "row",
    judged([row for row in KINETO if row["gpu_share_not_launched_in_steps"] and not row["file"].endswith("/")]),
)
def test_what_no_step_launched_is_noted_with_its_share(row: Mapping[str, str]) -> None:
    share = float(row["gpu_share_not_launched_in_steps"])
    stated = [text for text in read(row["file"]).warnings if "outside the steps" in text]
    assert bool(stated) == (share > 0.01)
    assert all(abs(float(text.split("%")[0]) / 100 - share) < 0.06 for text in stated)  # of busy time, not of the sum
