"""Write the results of a run: measurements.csv and provenance.json."""

from __future__ import annotations

import argparse
import csv
import io
import json
import platform
import sys
from pathlib import Path

from estimator.collect.bench.machine import nvidia_gpu, processor
from estimator.collect.bench.output import digest, write_whole
from estimator.collect.bench.sweep import COLUMNS, Sweep


def write_results(sweep: Sweep, options: argparse.Namespace) -> None:
    """Write the table and its provenance, then delete the partial file."""
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for index in sorted(sweep.rows) for row in sweep.rows[index])
    write_whole(options.output, table.getvalue())
    hashes = {path.name: digest(path) for path in (Path(__file__), options.shapes, options.output)}
    disturbed, share = sweep.disturbed()
    provenance = {
        **sweep.facts, "disturbed": disturbed,
        "disturbed_share": share if sweep.library.sees_disturbance else None,
        "backend": sweep.library.name, "gpu": sweep.library.gpu, "command": sys.argv,
        "processor": processor(), "system": platform.platform(), "python": platform.python_version(),
        "numpy": sweep.library.np.__version__, "driver": nvidia_gpu().get("driver"), "sha256": hashes,
        "left_out": {index + 1: reason for index, reason in sorted(sweep.left_out.items())},
    }  # fmt: skip
    write_whole(options.output.with_name("provenance.json"), json.dumps(provenance, indent=1) + "\n")
    sweep.partial.unlink()
