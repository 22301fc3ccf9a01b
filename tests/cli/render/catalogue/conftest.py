"""A small device file to print."""

from pathlib import Path

import pytest

BANDWIDTH = "memory_bandwidth: {value: 500 GB/s, source: x, status: read}\n"
TOY = f"name: toy\npeak: {{fp32: 10 TFLOP/s, bf16: unsupported}}\n{BANDWIDTH}"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one small device file."""
    (tmp_path / "toy.yaml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    return tmp_path
