"""Which library times the ops, and every op of each."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from estimator.collect.bench.jobs import PASSES
from estimator.collect.bench.libraries import choose
from estimator.collect.bench.types import CAST, LAUNCH, FaultError
from estimator.core.operators import timed_streams
from tests.collect.bench.runs import CONVOLUTION, SHAPES, run


@pytest.mark.parametrize(("backend", "words"), [("abacus", "is not known"), ("jax", "pip install jax")])
def test_an_unavailable_back_end_is_refused(backend: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FaultError, match=words):
        choose(backend)
    assert choose("auto") == "numpy"


@pytest.mark.parametrize(
    "backend", ["torch", pytest.param("tensorflow", marks=[pytest.mark.slow, pytest.mark.tensorflow]), "jax"]
)
def test_every_op_of_a_library_runs(backend: str, tmp_path: Path) -> None:
    """Each in a process of its own: libraries print, warn and stay in memory."""
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    passes = "".join(CONVOLUTION.format("fp32", name) for name in PASSES)
    ragged = CONVOLUTION.format("fp32", "forward").replace("forward,", "forward,7")
    cast = "elementwise,bf16,,,,,,cast,6000,,,,,,,,,,,,\n"
    shapes = SHAPES + passes + ragged + "gemm,bf16,,8,8,8,n,,,,,,,,,,,,,,\n" + cast
    rows = run(tmp_path, shapes, "--backend", backend, "--relative-error", "0.5")
    provenance = json.loads((tmp_path / "provenance.json").read_text())
    assert provenance["left_out"] == {}
    assert provenance["library"].startswith(backend)
    assert {row["kernel"] for row in rows} == {*timed_streams(), LAUNCH, CAST, ""}
    assert {row["bytes"] for row in rows if row["kernel"] == CAST} == {"6000"}
