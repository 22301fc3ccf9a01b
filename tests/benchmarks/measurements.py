"""Importing a large measured table against ``pandas.read_csv`` alone: python tests/benchmarks/measurements.py [MB]

Writes a CSV in the project's own columns, then times both in fresh processes without their imports and prints the
ratio. Memory is the peak resident set (VmHWM): the import streams, but what finds the rows of one shape keeps 20 bytes
a row, and at its end goes through them in parts.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MEGABYTES = 100
HEADER = "device,op_class,precision,m,n,k,trans_a,trans_b,time_s,time_low_s,time_high_s,repeats,library,source\n"
ROW = "toy,gemm,fp32,{m},{n},{k},n,t,{t:.6g},{low:.6g},{high:.6g},400,library 1.2.3; driver 4.5,made for a benchmark\n"
START = """
import json, sys, time
from pathlib import Path
import pandas
from estimator.devices.importers import import_measurements
path = Path(sys.argv[1])
start = time.perf_counter()
"""
COMMANDS = {
    "pandas.read_csv": "rows = len(pandas.read_csv(path))",
    "import": "rows = int(import_measurements([path], path.with_suffix('.out')).survey['rows'].sum())",
}
END = """
seconds = time.perf_counter() - start
peak = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')]
print(json.dumps({'rows': rows, 'seconds': seconds, 'peak': int(peak[0]) / 1024}))
"""


def write_table(path: Path, megabytes: float) -> int:
    """A table of about this size; how many rows it has."""
    rows = 0
    with path.open("w") as file:
        file.write(HEADER)
        while file.tell() < megabytes * 1e6:
            m, n, k = 64 + rows % 4096, 16 + rows // 4096, 128 + rows % 7
            t = 1e-5 + 2e-13 * m * n * k
            file.write(ROW.format(m=m, n=n, k=k, t=t, low=0.99 * t, high=1.01 * t))
            rows += 1
    return rows


def run(command: str, path: Path) -> dict[str, float]:
    """Rows, seconds and peak memory [MiB] of one command in a process of its own."""
    code = START + COMMANDS[command] + END
    actual = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return dict(json.loads(actual.stdout))


def main() -> None:
    """Generate, time both, print."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        rows = write_table(path, megabytes)
        actual = {command: run(command, path) for command in COMMANDS}
        assert all(result["rows"] == rows for result in actual.values())
    for command, result in actual.items():
        print(f"{command}: {result['seconds']:.1f} s, {result['peak']:.0f} MiB for {rows} rows in {megabytes:g} MB")
    ratios = (actual["import"][name] / actual["pandas.read_csv"][name] for name in ("seconds", "peak"))
    print("import over pandas.read_csv: {:.2f} x the time, {:.2f} x the memory".format(*ratios))


if __name__ == "__main__":
    main()
