import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import WORK
from estimator.work.shapes import Op, Shape, elements, parse_ops, read_attributes, read_shapes
from tests.conftest import make_ops


@pytest.mark.parametrize(
    ("text", "batch", "expected"),
    [
        ("-1x50;50x1", 100, ((100, 50), (50, 1))),
        ("-1x50", None, (None,)),
        ("-1x-1", 100, (None,)),
        ("unknown;3", 100, (None, (3,))),
        ("", 100, ()),
        ("7", None, ((7,),)),
        ("3x4;;5", None, ((3, 4), (1,), (5,))),
        ("0x4", None, ((0, 4),)),
        ("-1x60x2048/15x8;8x1/3", 4, ((1, 60, 547, 8), (1, 3))),  # 546.1 for all; at batch 1 they would be 137
        ("-1x1/3", None, (None,)),
        ("4x1/0;4x-1/3;4x1/3/3", 4, (None, None, None)),
        ("-2x4", 100, (None,)),
        ("99999999999x99999999999", None, (None,)),
        (f"{'9' * 5000}x3", None, (None,)),
    ],
)
def test_read_shapes(text: str, batch: int | None, expected: tuple[Shape | None, ...]) -> None:
    assert read_shapes(text, batch) == expected


def test_elements_are_known_only_if_all_shapes_are() -> None:
    assert elements(((3, 4), (5,))) == 17
    assert elements(((3, 4), None)) is None
    assert elements(()) is None


def test_read_attributes() -> None:
    assert read_attributes("strides=2x2;equation=ab,bc->ac;dispatch=1") == {
        "strides": "2x2", "equation": "ab,bc->ac", "dispatch": "1",
    }  # fmt: skip
    assert read_attributes("") == {}


@pytest.mark.parametrize("text", ["2xx2", "a", "-1x2", "9" * 400, "2x2;"])
def test_unreadable_attributes_are_refused(text: str) -> None:
    op = Op("Conv2D", "", (), (), {"strides": text})
    with pytest.raises(EstimatorError, match="whole numbers joined by x"):
        op.whole_numbers("strides")


def test_equal_rows_share_one_description() -> None:
    rows = make_ops({"op_type": "Relu", "shapes": "-1x5"}, {"op_type": "Add"}, {"op_type": "Relu", "shapes": "-1x5"})
    parsed = parse_ops(WORK.conform(rows, "here"), 7)
    assert [op.operands for op in parsed.ops] == [((7, 5),), ()]
    assert list(parsed.codes) == [0, 1, 0]
    everywhere = pd.Series(True, index=rows.index)
    sizes = parsed.read_each(everywhere, lambda op: elements(op.operands), "here")
    assert list(parsed.spread(sizes, float)[[0, 2]]) == [35, 35]


def test_a_fault_names_the_op() -> None:
    rows = WORK.conform(make_ops({"op": "layer/conv", "op_type": "Conv2D", "attributes": "strides=x"}), "here")
    with pytest.raises(EstimatorError, match="here: 'layer/conv': strides is 'x'"):
        parse_ops(rows, None).read_each(rows["op"].notna(), lambda op: op.whole_numbers("strides"), "here")
