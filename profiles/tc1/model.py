"""CANDLE TC1, types of tumours by gene expression: the network of NT3 with 36 classes."""

from functools import partial
from pathlib import Path
from runpy import run_path

build = partial(run_path(str(Path(__file__).resolve().parents[1] / "nt3" / "model.py"))["build"], classes=36)
