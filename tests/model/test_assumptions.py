"""The assumptions of a prediction."""

import pandas as pd
import pytest

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, MeasuredDevice, Workload
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.assumptions import assumptions, specifications
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import PLAN, ROW, SHAPE, predict_on, table

TOY = Workload(name="toy", precision="fp32")
Row = dict[str, object]
SIBLINGS = (("launches", "250 W", (4, 4, 4, "n", "t", 5e-6)), ("like", "240 W", ROW), ("unlike", "400 W", ROW))


def test_sources_of_measurements_are_those_of_the_ops_precision() -> None:
    measured = pd.concat([table(ROW).assign(source="mine"), table(ROW).assign(precision="fp16", source="theirs")])
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    device = make_device(peak={"fp32": "10 TFLOP/s", "fp16": "20 TFLOP/s"})
    ops = predict_on(work, device, measured).ops
    notes = assumptions(ops, device, measured)
    sources = [note.text for note in notes if note.code == "measurements-used"]
    assert sources == ["toy: measured times are from mine"]


SURE = {"status": "read", "source": "a paper"}
KNOWN: Row = {
    "peak": {"fp32": {"value": "10 TFLOP/s", **SURE}},
    "memory_bandwidth": {"value": "500 GB/s", **SURE},
    "launch_latency": {"value": "5 us", **SURE},
    "power_limit": {"value": "300 W", **SURE},
    "last_level_cache": {"value": "40 MiB", **SURE},
    "compute_units": {"value": 80, **SURE},
    "year": 2020,
}
PRODUCT: Row = {"op_type": "MatMul", **SHAPE}
RELU: Row = {"op_type": "Relu", "shapes": "900x1000"}
POOL: Row = {"op_type": "AvgPool", "shapes": "8x20x30x4", "output_shapes": "8x10x15x4"}
MYSTERY: Row = {"op_type": "Mystery", "time_s": 2e-3}


def sentences(
    *rows: Row, device: Row = KNOWN, measured: pd.DataFrame | None = None, workload: Workload = TOY
) -> list[str]:
    """The assumptions about such ops on such a device, as sentences."""
    target, rows_of_target = make_device(**device), measured if measured is not None else table()
    work = count_work(make_ops(*rows), workload).work
    notes = assumptions(predict_on(work, target, rows_of_target).ops, target, rows_of_target)
    return [note.text for note in notes]


def test_a_fully_known_device_leaves_the_fitted_models() -> None:
    (models,) = sentences(PRODUCT)
    start = "matrix products that were not measured are predicted by a model fitted to other devices ("
    assert models.startswith(start)
    assert sentences(RELU)[0].startswith(start.replace("matrix products", "memory-bound ops"))


def test_specifications_that_nobody_read_have_a_note_each() -> None:
    doubtful = {
        "value": "500 GB/s",
        "status": "recall",
        "source": "a talk",
        "note": "at best",
        "waiver": "lint: so be it",
    }
    actual = sentences(
        RELU, device=KNOWN | {"memory_bandwidth": doubtful, "launch_latency": {"value": "5 us", "status": "assumed"}}
    )
    assert [sentence.removeprefix("toy: ") for sentence in actual[:4]] == [
        "memory_bandwidth = 500 GB/s is recalled, not re-read (a talk)",
        "memory_bandwidth = 500 GB/s fails a check of the catalogue; the check is waived: lint: so be it",
        "memory_bandwidth = 500 GB/s; its file notes: at best",
        "launch_latency = 5 us is assumed",
    ]


def test_a_peak_of_integers_is_in_operations() -> None:
    peak = {"fp32": {"value": "10 TFLOP/s", **SURE}, "int8": {"value": "40 TOP/s", "status": "assumed"}}
    actual = sentences({**PRODUCT, "precision": "int8"}, device=KNOWN | {"peak": peak})
    assert actual[0] == "toy: peak.int8.tensor = 40 TOP/s is assumed"
    assert "the models are fitted to formats of 16 bits and more; int8 is taken to be like them" in actual


def test_specifications_that_no_modelled_op_needs_have_no_note() -> None:
    carried = {"op_type": "Placeholder", "time_s": 2e-3}
    of_host = predict_on(count_work(make_ops(carried), TOY).work, make_device(), table()).ops
    assert specifications(of_host, make_device()) == {}
    of_stream = specifications(
        predict_on(count_work(make_ops(RELU), TOY).work, make_device(), table()).ops, make_device(**KNOWN)
    )
    assert "toy: power_limit" not in of_stream
    assert "toy: memory_bandwidth" in of_stream


@pytest.mark.parametrize(
    ("lacks", "sentence"),
    [
        (
            {"power_limit": None},
            "toy gives no power_limit: power is taken not to lower its peaks; the interval includes both",
        ),
        ({"year": None}, "toy gives no year: a FLOP takes the energy of"),
        (
            {"last_level_cache": None},
            "toy gives no last_level_cache: matrix products are taken to read all from memory",
        ),
        ({"launch_latency": None}, "no launch_latency is given: a launch takes"),
    ],
)
def test_what_a_device_file_lacks_has_a_note(lacks: Row, sentence: str) -> None:
    assert any(actual.startswith(sentence) for actual in sentences(PRODUCT, device=KNOWN | lacks))
    assert not any(actual.startswith(sentence) for actual in sentences(PRODUCT))


@pytest.mark.parametrize(
    ("fields", "op", "expected"),
    [
        ({}, PRODUCT, True),
        ({}, POOL, False),
        ({"compute_units": 80}, PRODUCT, False),
    ],
)
def test_unknown_units_have_a_note_where_they_limit_an_op(fields: Row, op: Row, expected: bool) -> None:
    device: Row = {**KNOWN, "compute_unit": "MXU", "compute_units": None, **fields}
    text = "toy gives no compute_units: 80 are taken for matrix products and convolutions"
    assert any(sentence.startswith(text) for sentence in sentences(op, device=device)) is expected


def test_depthwise_convolutions_of_gpus_have_coefficients_of_their_own() -> None:
    layer: Row = {"op_type": "DepthwiseConv2dNative", "shapes": "8x9x9x4;3x3x4x1", "attributes": "padding=SAME"}
    for unit, kind in (("SM", "depthwise convolutions"), ("core", "convolutions")):
        device: Row = {**KNOWN, "compute_units": 80, "compute_unit": unit, "boost_clock": "1.5 GHz"}
        assert any(text.startswith(f"{kind} that were not measured") for text in sentences(layer, device=device))


def test_assumed_units_are_left_open_where_an_op_asks_for_them() -> None:
    device = make_device(compute_units={"value": 70, "status": "assumed", "source": "usual"})
    ops = predict_on(count_work(make_ops(POOL), TOY).work, device, table()).ops
    (note,) = [note for note in assumptions(ops, device, table()) if note.code == "units-unknown"]
    assert note.text == "toy: compute_units = 70 is assumed (usual)"


def test_proportional_ops_are_named_the_longest_first() -> None:
    rows = [{**MYSTERY, "op": f"op {i}", "time_s": i * 1e-3} for i in range(8)]
    assert sentences(PRODUCT, *rows)[-1].startswith("7 op(s) (op 7, op 6, op 5, op 4, op 3, … 2 more; 28.0 ms, ")
    assert sentences(PRODUCT, *rows[:6])[-1].startswith("5 op(s) (op 5, op 4, op 3, op 2, op 1; 15.0 ms, ")


def test_measured_rows_and_notes_of_a_device_have_notes() -> None:
    unused = [table(ROW).assign(op_class=name, source="x") for name in ("collective", "unmodelled")]
    rows = pd.concat([table(ROW).assign(source=None), *unused])
    actual = sentences(PRODUCT, measured=rows, device=KNOWN | {"notes": ["of an early board"]})
    assert actual == [
        "toy: measured times are from no source given",
        "toy: 1 measured rows state no interval: each time is taken within ± 5 %",
        "toy: measured rows of collective, unmodelled are not used",
        "toy: of an early board",
    ]


def notes_of(*op_types: str, source: DeviceSpec | None) -> dict[str, Note]:
    product: dict[str, object] = {"op_type": "MatMul", **SHAPE, "time_s": 2e-3}
    others: list[dict[str, object]] = [{"op_type": name} for name in op_types]
    work, device = count_work(make_ops(product, *others), Workload(name="toy")).work, make_device()
    ops = predict_on(work, device, table(), source=source).ops
    return {note.code: note for note in assumptions(ops, device, table(), source)}


def test_proportional_time_is_noted_with_its_share_and_longest_ops() -> None:
    notes = notes_of("Relu", "Mystery", source=make_device(name="source"))
    assert notes["proportional"].share == 0.5
    assert notes["proportional"].subject == "op1, op2"
    assert "by the ratio of source's and toy's bandwidths or peaks" in notes["proportional"].text
    assert "carried" not in notes


def test_messages_of_unknown_bytes_have_a_note_of_their_own() -> None:
    notes = notes_of("NcclAllReduce", "Mystery", source=make_device(name="source"))
    assert (notes["message-unsized"].subject, notes["proportional"].subject) == ("op1", "op2")
    assert "are taken from their time on the source, among 8 ranks" in notes["message-unsized"].text
    unknown = notes_of("NcclAllReduce", "Mystery", source=None)
    assert unknown["proportional"].subject == "op1, op2"
    assert "message-unsized" not in unknown


def test_without_the_sources_rates_the_note_names_the_modelled_ops() -> None:
    assert "scaled like the modelled ops" in notes_of("Relu", source=None)["proportional"].text


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


def test_products_that_follow_those_of_another_device_are_noted() -> None:
    device, work = make_device(power_limit="250 W"), count_work(make_ops(PRODUCT), TOY).work
    siblings = [MeasuredDevice(make_device(name=name, power_limit=power), table(row)) for name, power, row in SIBLINGS]
    ops = predict(work, SourceRun(), TargetDevice(device, table(), lambda: siblings), PLAN).ops
    (text,) = [note.text for note in assumptions(ops, device, table()) if note.code == "measurements-resembling"]
    assert (
        text
        == "toy: no products in fp32 were measured; they follow those measured on like in fp32, with a weight of 62 %"
    )
    without_shapes = ops.assign(method="proportional")
    (text,) = [
        note.text for note in assumptions(without_shapes, device, table()) if note.code == "measurements-resembling"
    ]
    assert text.startswith("toy: products in fp32 without shapes go by the rates of those measured on like in fp32")
    unlike = predict_on(work, device, table()).ops
    assert not any(note.code == "measurements-resembling" for note in assumptions(unlike, device, table()))
