"""All-reduce."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.collect.bench.runs import run


def test_all_reduce_over_processes(tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    shapes = "op_class,precision,bytes,ranks\ncollective,fp32,4000,2\ncollective,fp32,80,3\n"
    (row,) = run(tmp_path, shapes, "--backend", "torch", "--all-reduce", "2")
    assert (row["kernel"], row["ranks"], row["bytes"]) == ("all_reduce", "2", "4000")
    assert row["library"].startswith("torch ")
    assert row["library"].endswith("; gloo")
