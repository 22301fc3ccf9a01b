"""Rows to time, and runs of the program."""

import csv
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from estimator.collect.bench.command import main
from estimator.collect.bench.jobs import PASSES, Job, make_job
from estimator.collect.bench.shapes import Shape
from estimator.collect.bench.types import CAST, LAUNCH
from estimator.collect.measure.program import program
from estimator.core.operators import class_of, timed_streams

SHAPES = (
    "op_class,precision,batch,m,n,k,trans_a,kernel,bytes,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,pad_h,pad_w,"
    "groups,pass,conv_p\n"
    "gemm,fp32,2,8,4,16,t,,,,,,,,,,,,,,\ngemm,fp64,,8,4,16,n,,,,,,,,,,,,,,\nelementwise,fp32,,,,,,launch,,,,,,,,,,,,,\n"
    + "".join(f"{class_of(name)},fp32,,,,,,{name},20000,,,,,,,,,,,,\n" for name in timed_streams())
)
CONVOLUTION = "convolution,{},,,,,,,,2,4,6,5,6,3,2,1,0,1,{},\n"
POOL = {"op_class": "pooling"} | {
    f"conv_{name}": size for name, size in zip("nchwrspq", (2, 3, 9, 7, 3, 3, 4, 3), strict=True)
}


def job(**cells: object) -> Job:
    """The job of a row with these cells."""
    text = {name: str(value) for name, value in cells.items()}
    return make_job(Shape({"precision": "fp32", **text}, "shapes.csv: row 3"))


def measure(folder: Path, *words: str, shapes: str = SHAPES) -> int:
    """Run the command on numpy, in this process."""
    (folder / "shapes.csv").write_text(shapes)
    options = ("--backend", "numpy", "--budget", "20", "--relative-error", "0.5", *words)
    return main([*options, "--shapes", str(folder / "shapes.csv"), "-o", str(folder / "out.csv")])


def started(folder: Path, shapes: str, *words: str) -> list[str]:
    """The command that runs the program, the one file, in a process of its own: libraries stay in memory."""
    (folder / "measure.py").write_text(program())
    (folder / "shapes.csv").write_text(shapes)
    places = ["--shapes", str(folder / "shapes.csv"), "-o", str(folder / "out.csv")]
    return [sys.executable, str(folder / "measure.py"), *words, *places]


def run(folder: Path, shapes: str, *words: str) -> list[dict[str, str]]:
    """The rows that the program measures on a library on this processor."""
    subprocess.run(started(folder, shapes, "--device", "cpu", *words), check=True, capture_output=True, timeout=300)
    return read(folder / "out.csv")


def run_every_op(folder: Path, backend: str) -> None:
    """Run every op of a library that is installed: in a process of its own, as it prints, warns and stays in memory."""
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    passes = "".join(CONVOLUTION.format("fp32", name) for name in PASSES)
    ragged = CONVOLUTION.format("fp32", "forward").replace("forward,", "forward,7")
    cast = "elementwise,bf16,,,,,,cast,6000,,,,,,,,,,,,\n"
    shapes = SHAPES + passes + ragged + "gemm,bf16,,8,8,8,n,,,,,,,,,,,,,,\n" + cast
    rows = run(folder, shapes, "--backend", backend, "--relative-error", "0.5")
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["left_out"] == {}
    assert provenance["library"].startswith(backend)
    assert {row["kernel"] for row in rows} == {*timed_streams(), LAUNCH, CAST, ""}
    assert {row["bytes"] for row in rows if row["kernel"] == CAST} == {"6000"}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
