"""CANDLE P3B1 as its files intend it: the three networks behind one that they share."""

from functools import partial
from pathlib import Path
from runpy import run_path

build = partial(
    run_path(str(Path(__file__).resolve().parents[1] / "p3b1" / "model.py"))["build"],
    shared=(1200, 2400, *7 * (3600,), 2400),
)
