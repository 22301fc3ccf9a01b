"""Time matrix products, convolutions and memory-bound operations on this machine.

    python measure.py                                        # the shapes beside this file, PyTorch if installed
    python measure.py --backend numpy --threads 8 --budget 600

Needs Python 3.9 and numpy; uses PyTorch, TensorFlow or JAX where they are installed. It times each row of shapes.csv
and writes measurements.csv and provenance.json. It sends nothing anywhere and changes nothing on the machine.
Stop it with Ctrl-C at any time: the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from estimator.collect.bench.device import describe
from estimator.collect.bench.jobs import make_jobs
from estimator.collect.bench.libraries import LIBRARIES, choose
from estimator.collect.bench.machine import keep_memory, limit_threads
from estimator.collect.bench.output import print_line
from estimator.collect.bench.results import write_results
from estimator.collect.bench.shapes import read_shapes
from estimator.collect.bench.sweep import Sweep
from estimator.collect.bench.types import FaultError


def above_zero(text: str, below: float = math.inf) -> float:
    """Parse a number above 0 and below a limit."""
    value = float(text)
    if not 0 < value < below:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0 and below {below:g}")
    return value


def parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder, share = Path(__file__).resolve().parent, functools.partial(above_zero, below=1.0)
    parser.add_argument("--backend", default="auto", help="numpy, torch, tensorflow or jax; auto: torch, else numpy")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="auto: a GPU if there is one")
    parser.add_argument("--threads", type=int, help="threads of the processor; one for each core by default")
    parser.add_argument("--shapes", type=Path, default=folder / "shapes.csv", help="table of shapes")
    parser.add_argument("--relative-error", type=share, default=0.02, help="of the median, to repeat until; 0.02")
    parser.add_argument("--budget", type=above_zero, default=1800.0, help="seconds for all shapes; 1800")
    parser.add_argument("--all-reduce", type=int, default=0, metavar="N", help="all-reduce over N processes (torch)")
    parser.add_argument("-o", "--output", type=Path, default=folder / "measurements.csv", help="the table written")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = parse_arguments(words)
    try:
        name = choose(options.backend)
        if options.all_reduce and name != "torch":
            raise FaultError(f"--all-reduce needs PyTorch, and the back end is {name}; add --backend torch")
        shapes, threads = read_shapes(options.shapes), limit_threads(options.threads)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        keep_memory()
        library = LIBRARIES[name](options.device, threads)
        print_line(f"{library.versions()} on {describe(library)['name']}, {threads} threads")
        sweep = Sweep(library, make_jobs(shapes, options.all_reduce, library.kernels()), options)
        sweep.run()
        write_results(sweep, options)
    except (FaultError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C changes nothing
        sys.stderr.write("stopped; what is measured is kept, and the same command goes on from here\n")
        return 130
    print_line(f"wrote {options.output} and provenance.json beside it: {len(sweep.left_out)} shapes left out")
    if rows := sweep.disturbed()[0]:
        print_line(f"{len(rows)} rows hold samples alone that other processes disturbed: {'; '.join(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
