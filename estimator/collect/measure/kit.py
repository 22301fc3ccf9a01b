"""The vendor kit: a folder that measures shapes without this project and without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.collect.measure.program import program
from estimator.core.files import whole_folder, write_text
from estimator.core.schema import MEASUREMENTS

if TYPE_CHECKING:
    import pandas as pd

README = """# Measurements of {count} shapes

`measure.py` times matrix products, convolutions and memory-bound operations on one device. The figures feed a
prediction of how long a training step takes there. It is one file of plain Python; read it before you run it.

## Run it

```
python measure.py
```

It needs Python 3.9 or newer and numpy. Known to work on processors: numpy 2.4, PyTorch 2.13, TensorFlow 2.21, JAX 0.10.
Older ones should do (TensorFlow on a GPU from 2.12). It uses PyTorch where that is installed, on the GPU it sees first;
so install the build that your customers would use. Nothing is downloaded or sent, no setting is changed, no file
outside this folder is written, but for where the processes of `--all-reduce` meet. Ctrl-C stops it; the same command
goes on where it stopped. Without options it ends after 30 minutes at most and leaves out what did not fit.

| option | meaning |
|---|---|
| `--backend torch` | or tensorflow, jax, numpy |
| `--device cuda` | or cpu; by default the GPU where there is one (ROCm's GPUs are cuda to PyTorch) |
| `--threads 16` | threads of the processor; one for each core by default |
| `--budget 3600` | seconds for all shapes |
| `--relative-error 0.01` | repeat each until its median is known so well; 0.02 by default |
| `--all-reduce 8` | rows of class collective: over so many processes on this machine (PyTorch) |

For figures worth comparing, run nothing else meanwhile (samples that others disturbed are dropped and counted,
except under TensorFlow), and leave clocks and power limits as your customers have them.
Please run it once for each device and software stack, each in a copy of this folder.

## Send back

`measurements.csv` and `provenance.json`, both written here. The second names the device, driver and library versions,
threads, clock, the command, what was left out and why, and the SHA-256 of this program, the shapes and the table. No
host name, user name or path of yours is in them but the command's words.

## What is timed

Each row of `shapes.csv`, with warm-up and compilation left out, until the median is known to 2 %. Products and
convolutions run with a warm cache, as in DeepBench, and memory-bound operations with a cold and with a warm one (pools
and the launch with a warm one), unless the column `cache` says which. A memory-bound operation is timed by the `kernel`
named in its row, else by its `operator`'s own kernel where the library has one, else by an addition, sum, layer norm or
copy, which stands in for its class; the table written names both. Times are seconds: the median, and the 5 % and
95 % points. `schema.md` explains every column.
"""


def write_kit(folder: Path, shapes: pd.DataFrame) -> list[Path]:
    """Write the folder whole or not at all. Raises EstimatorError where it is not empty."""
    texts = {
        "measure.py": program(),
        "shapes.csv": csv_text(shapes),
        "README.md": README.format(count=len(shapes)),
        "schema.md": f"# The columns of shapes.csv and measurements.csv\n\n{MEASUREMENTS.document()}\n",
    }
    with whole_folder(folder) as temporary:
        for name, text in texts.items():
            write_text(temporary / name, text)
    return [folder.resolve() / name for name in texts]


def csv_text(shapes: pd.DataFrame) -> str:
    """Shapes as CSV, without empty columns."""
    return str(shapes.dropna(axis="columns", how="all").to_csv(index=False, lineterminator="\n"))
