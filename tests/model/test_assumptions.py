"""What a prediction says that it rests on."""

import pandas as pd

from estimator.core.types import Workload
from estimator.model.assumptions import assumptions
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import ROW, SHAPE, predict_on, table


def test_a_product_names_the_source_of_the_rows_of_its_own_precision() -> None:
    measured = pd.concat([table(ROW).assign(source="mine"), table(ROW).assign(precision="fp16", source="theirs")])
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "20 TFLOP/s"})
    found = predict_on(work, device, measured).ops
    named = [s for s in assumptions(found, device, measured, Workload(name="toy")) if "measured ops" in s]
    assert named == ["toy: measured ops are those of mine"]
