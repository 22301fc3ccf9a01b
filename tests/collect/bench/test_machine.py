"""Facts of the machine."""

import math
import sys
from pathlib import Path

import pytest

from estimator.collect.bench import machine
from estimator.collect.bench.machine import (
    container_limit,
    cores,
    last_level_caches,
    limit_threads,
    memory,
    nvidia_gpu,
    query_nvidia_smi,
    usable_processors,
)
from estimator.collect.bench.types import FaultError


def test_the_processor_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("vendor_id\t: V\nmodel name\t: \nmodel name\t: A Processor @ 2 GHz\n")
    monkeypatch.setattr(machine, "CPUINFO", str(tmp_path / "cpuinfo"))
    assert machine.processor() == "A Processor @ 2 GHz"
    monkeypatch.setattr(machine, "CPUINFO", str(tmp_path / "missing"))
    assert machine.processor()


def test_each_core_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_processors", lambda: [0, 1, 2, 3])
    assert cores(str(tmp_path)) == [0, 1, 2, 3]
    for cpu in range(4):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    assert cores(str(tmp_path)) == [0, 1]


def test_limits_of_a_container_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CGROUP", str(tmp_path))
    monkeypatch.setattr(machine, "usable_processors", lambda: list(range(8)))
    assert container_limit("cpu.max") == math.inf
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "memory.stat").write_text("anon 524288\nfile 4096\nanon_thp 7\n")
    assert (container_limit("cpu.max"), memory("MemTotal")) == (1.5, 2.0**20)
    assert memory("MemAvailable") == 2.0**19
    with pytest.raises(FaultError, match="this process may use 1 processors"):
        limit_threads(2)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert container_limit("cpu.max") == math.inf
    for queried in (0, -1, 9):
        with pytest.raises(FaultError, match="may use 8 processors"):
            limit_threads(queried)


@pytest.mark.parametrize(("seen", "queried"), [(None, "0"), ("2,3", "2"), ("GPU-5e", "GPU-5e")])
def test_unknown_numbers_of_a_gpu_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str | None, queried: str
) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        f"#!{sys.executable}\nimport sys\nif sys.argv[-1] == {queried!r}: print('GB10, 580, [N/A], 3003')\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert nvidia_gpu.__wrapped__() == {"name": "GB10", "driver": "driver 580", "memory": None, "max_clock": 3.003e9}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert query_nvidia_smi("name", "driver_version") == []


def test_the_last_level_cache_is_counted_once_for_those_that_share_it(tmp_path: Path) -> None:
    caches = {"index0": ("1", "32K", "{}"), "index1": ("3", "32768K", "0-3")}
    for cpu in usable_processors():
        for name, texts in caches.items():
            folder = tmp_path / f"cpu{cpu}/cache/{name}"
            folder.mkdir(parents=True)
            for file, text in zip(("level", "size", "shared_cpu_list"), texts, strict=True):
                (folder / file).write_text(f"{text.format(cpu)}\n")
    assert last_level_caches(str(tmp_path)) == [32768 * 1024]
    assert last_level_caches(str(tmp_path / "none")) == []
