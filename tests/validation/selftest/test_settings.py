"""Settings: parsing, detection, and the environment of a process."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.collect.bench import machine
from estimator.collect.bench.machine import usable_processors
from estimator.core.errors import EstimatorError
from estimator.validation.selftest.settings import (
    BF16_ISAS,
    FLAGS_NEEDED,
    Setting,
    choose_settings,
    detected,
    in_setting,
    parse,
    processor_flags,
    supported,
)

MILAN = frozenset({"sse4_1", "avx", "avx2", "fma"})
ICE_LAKE = MILAN | {"avx512f", "avx512bw", "avx512vl", "avx512dq"}
GENOA = ICE_LAKE | {"avx512_bf16"}
linux = pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="settings are Linux's")


@given(st.integers(1, 256), st.sampled_from([*FLAGS_NEEDED]), st.sampled_from(["fp32", "bf16"]))
def test_the_name_of_a_setting_parses_to_it(threads: int, isa: str, precision: str) -> None:
    setting = Setting(threads, isa, precision)  # type: ignore[arg-type]
    assert parse(setting.name) == setting
    assert parse(setting.name.lower()) == setting


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AVX2", "write threads and instructions"),
        ("2xAVX3", "Did you mean"),
        ("1xFOO", "oneDNN knows SSE41, AVX,"),
        ("2xAVX2-fp16", "not understood"),
    ],
)
def test_invalid_settings_are_refused(text: str, message: str) -> None:
    with pytest.raises(EstimatorError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("flags", "cores", "names"),
    [
        (MILAN, 1, ["1xAVX", "1xAVX2"]),
        (MILAN, 8, ["1xAVX", "1xAVX2", "2xAVX", "2xAVX2"]),
        (ICE_LAKE, 1, ["1xAVX2", "1xAVX512_CORE"]),
        (GENOA, 1, ["1xAVX2", "1xAVX512_CORE", "1xAVX512_CORE_BF16-bf16"]),
        (frozenset(), 4, []),
    ],
)
def test_settings_of_a_processor_are_detected(flags: frozenset[str], cores: int, names: list[str]) -> None:
    actual = detected(flags, cores)
    assert [setting.name for setting in actual] == names
    assert all(supported(setting, flags, cores) for setting in actual)


def test_bf16_needs_instructions_for_it() -> None:
    everything = frozenset().union(*FLAGS_NEEDED.values())
    assert [isa for isa in FLAGS_NEEDED if supported(Setting(1, isa, "bf16"), everything, 1)] == [*BF16_ISAS]
    assert not supported(Setting(2, "AVX2"), everything, 1)


@linux
def test_unsupported_settings_are_refused() -> None:
    with pytest.raises(EstimatorError, match="is not one of this machine's; it has 1x"):
        choose_settings([f"{len(usable_processors()) + 1}xAVX2", "1xAVX2"])
    with pytest.raises(EstimatorError, match="needs two settings"):
        choose_settings(["1xSSE41", "1xsse41"])


@linux
def test_the_quota_of_a_container_limits_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(machine, "CGROUP", str(tmp_path))
    with pytest.raises(EstimatorError, match="'2xSSE41' is not one of this machine's"):
        choose_settings(["2xSSE41", "1xSSE41"])


def test_an_unreadable_cpuinfo_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="Linux alone"):
        processor_flags(tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("model name : toy\nflags\t\t: sse4_1 avx\n")
    assert processor_flags(tmp_path / "cpuinfo") == {"sse4_1", "avx"}


@linux
def test_in_setting_restores_affinity_and_environment() -> None:
    own, variables = os.sched_getaffinity(0), dict(os.environ)
    with in_setting(Setting(1, "AVX2")):
        assert len(os.sched_getaffinity(0)) == 1
        assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert (os.sched_getaffinity(0), dict(os.environ)) == (own, variables)
