"""The assumptions of a prediction."""

import pandas as pd

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, Workload
from estimator.model.assumptions import assumptions, specifications
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


def notes_of(*op_types: str, source: DeviceSpec | None) -> dict[str, Note]:
    product: dict[str, object] = {"op_type": "MatMul", **SHAPE, "time_s": 2e-3}
    others: list[dict[str, object]] = [{"op_type": name} for name in op_types]
    work, device = count_work(make_ops(product, *others), Workload(name="toy")).work, make_device()
    ops = predict_on(work, device, table(), source=source).ops
    return {note.code: note for note in assumptions(ops, device, table(), Workload(name="toy"), source)}


def test_proportional_time_is_noted_with_its_share_and_longest_ops() -> None:
    notes = notes_of("Relu", "Mystery", source=make_device(name="source"))
    assert notes["proportional"].share == 0.5
    assert notes["proportional"].subject == "op1, op2"
    assert "by the ratio of source's and toy's rates" in notes["proportional"].text
    assert "carried" not in notes


def test_without_the_sources_rates_the_note_names_the_modelled_ops() -> None:
    assert "as the step's modelled ops do" in notes_of("Relu", source=None)["proportional"].text


def test_host_and_input_time_is_noted_as_carried() -> None:
    notes = notes_of("Const", "Placeholder", source=None)
    assert (notes["carried"].subject, notes["carried"].share) == ("op1, op2", 0.5)
    assert "proportional" not in notes


def test_the_targets_rates_are_specifications_behind_a_proportional_time() -> None:
    device = make_device(link={"per_direction": "50 GB/s"})
    work = count_work(make_ops({"op_type": "Mystery"}, {"op_type": "NcclAllReduce"}), Workload(name="toy")).work
    ops = predict_on(work, device, table(), source=make_device(name="source")).ops
    known = specifications(ops, device)
    assert set(known) == {"toy: peak.fp32.vector", "toy: memory_bandwidth", "toy: link.per_direction"}
