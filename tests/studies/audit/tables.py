"""Small published tables: of two toy devices, to check by hand; of two shipped ones, to audit."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from estimator.core.types import Number
from estimator.studies.audit import audit_table
from estimator.studies.audit.marks import meanings
from estimator.studies.audit.printed import read_printed
from estimator.studies.audit.table import Rules, Table
from estimator.studies.audit.types import Audit, CheckedNumber, Mark
from estimator.studies.study import read_study
from tests.conftest import make_device

OLD = make_device(name="old-device", peak={"fp64": "1 TFLOP/s", "fp32": "4 TFLOP/s"})
NEW = make_device(name="new-device", peak={"fp64": "5 TFLOP/s", "fp32": "10 TFLOP/s"})
STEPS = 10
OPS = """op_type,op_class,phase,precision,m,n,k,calls,time_s,bytes
MatMul,gemm,forward,fp32,2048,2048,2048,4,0.5,
Add,elementwise,backward,fp32,,,,2,0.1,80000000
Sleep,host,other,,,,,1,30,
"""


def toy_table(rows: Mapping[str, object], peak: str = "1x", **fields: object) -> Table:
    """A table of an old and a new toy device."""
    columns = {"old": {"devices": "old-device"}, "new": {"devices": "new-device", "peak": peak}}
    return Table.model_validate(
        {"title": "t", "source": "s", "baseline": "old", "columns": columns, "rows": rows, **fields}
    )


def toy_row(old: str, new: str, ratio: str, **fields: object) -> dict[str, object]:
    """A row of a toy table."""
    return {"profile": "p", "times": {"old": old, "new": new}, "ratios": {"new": ratio}, **fields}


def write_study(
    folder: Path, times: Mapping[str, object], ratio: str = "2x", *, both: bool = True, **fields: object
) -> Path:
    """Write a study of one table, and its profile: rows A and B of the same profile, B without ratio; else A alone."""
    (folder / "dump.csv").write_text(OPS)
    (folder / "workload.yaml").write_text(f"name: w\nbatch_size: 8\nsamples: {8 * STEPS}\n")
    columns = {"old": {"devices": "k20x"}, "new": {"devices": ["v100-sxm2-16gb", "p100-pcie-16gb"]}, "dark": {}}
    row = {"profile": "dump.csv", "batch_size": 8, "times": times, "ratios": {"new": ratio} if ratio else {}, **fields}
    rows = {"A": row, "B": {**row, "ratios": {}, "stated": []}}
    like_rows = (
        {"rows": rows, "alike": [{"rows": ["A", "B"], "reason": "the same run"}]} if both else {"rows": {"A": row}}
    )
    table = {"title": "T", "source": "s", "baseline": "old", "columns": columns, **like_rows}
    path = folder / "study.yaml"
    path.write_text(json.dumps({"title": "t", "draws": 100, "tables": {"one": table}}))
    return path


def audit_study(path: Path) -> Audit:
    """The audit of the one table of a study."""
    study = read_study(path)
    ((name, table),) = study.tables.items()
    return audit_table(name, table, path.parent, study.draws, study.seed)


def audit_rows(folder: Path, times: Mapping[str, object], ratio: str = "2x", **fields: object) -> Audit:
    """The audit of row A of the table that write_study writes."""
    return audit_study(write_study(folder, times, ratio, both=False, **fields))


def scaled_times(kernels: Mapping[str, float], old: float, new: float) -> dict[str, object]:
    """Printed times that are multiples of the predicted kernels of an epoch."""
    return {"old": f"{old * kernels['old']:.9f} s", "new": f"{new * kernels['new']:.9f} s"}


def checked(kind: str, row: str | None, column: str | None, mark: Mark = "reproduced") -> CheckedNumber:
    ours = Number(f"{kind}/{row}/{column}", "ours", np.array([2.0]), "s", "device", "given")
    return CheckedNumber(kind, row, column, read_printed("4.0x", "1"), ours, mark, "why", (ours,))


AUDIT = Audit(
    title="T", source="S", rows=("A", "B"), columns=("old", "new"), meanings=meanings(Rules()), estimates={},
    checked={
        "peaks": (checked("peak", None, "new", "rounding"),),
        "counts": (checked("batch size", "A", None), checked("parameters", "A", None, "wrong part")),
        "means": tuple(checked(f"mean {i} of the ratios", None, "new") for i in (1, 2)),
        "ratios": (checked("ratio", "A", "new"),),
        "like rows": (checked("step of A and B", None, "new"),),
        "times": (checked("time", "A", "new", "data-bound"), checked("time", "B", "old")),
    },
)  # fmt: skip
