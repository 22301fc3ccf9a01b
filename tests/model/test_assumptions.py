"""The assumptions of a prediction."""

import pandas as pd

from estimator.core.types import Workload
from estimator.model.assumptions import assumptions
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import ROW, SHAPE, predict_on, table


def test_sources_of_measurements_are_those_of_the_ops_precision() -> None:
    measured = pd.concat([table(ROW).assign(source="mine"), table(ROW).assign(precision="fp16", source="theirs")])
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "20 TFLOP/s"})
    ops = predict_on(work, device, measured).ops
    notes = assumptions(ops, device, measured, Workload(name="toy"))
    sources = [note.text for note in notes if note.code == "measurements-used"]
    assert sources == ["toy: measured ops are those of mine"]
