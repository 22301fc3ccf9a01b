"""The work of rows without shapes, from what workload.yaml says, by hand."""

import pytest

from estimator.core.operators import operators
from estimator.core.types import Optimizer, UpdateOp, Workload
from estimator.work.aggregates import Amount, layer_work, update_work

RULE = Optimizer(name="own", update_ops={"Mul": UpdateOp(calls=3, reads=2, writes=1, flop=4)})
TRAINED = Workload(name="toy", parameters=1000, variables=7, optimizer=RULE)
LAYERED = Workload(name="toy", batch_size=10, layer_outputs=[30, 20, 5])


def test_an_op_of_the_update_passes_over_all_parameters() -> None:
    assert update_work("Mul", TRAINED, 2) == Amount(3 * 7, 3 * 4 * 1000, 3 * (2 + 1) * 1000 * 2, "optimizer")


def test_parameters_of_unknown_number_of_variables_are_one() -> None:
    amount = update_work("Mul", TRAINED.model_copy(update={"variables": None}), 2)
    assert amount is not None
    assert amount.calls == 3


@pytest.mark.parametrize("lacking", ["optimizer", "parameters"])
def test_without_a_rule_or_parameters_nothing_tells_the_update(lacking: str) -> None:
    assert update_work("Mul", TRAINED.model_copy(update={lacking: None}), 4) is None


def test_an_op_that_the_rule_does_not_name_has_no_share_of_the_update() -> None:
    assert update_work("Sub", TRAINED, 4) is None


def test_an_op_of_layers_passes_over_every_layers_output() -> None:
    name, rule = next((name, rule) for name, rule in operators().items() if rule.layerwise and rule.flop_per_element)
    amount = layer_work(name, LAYERED, 4)
    elements = 10 * (30 + 20 + 5)
    moved = (rule.reads + rule.writes) * elements * 4
    assert amount == Amount(3, rule.flop_per_element * elements, moved, "unknown")


@pytest.mark.parametrize("unknown", [{"batch_size": None}, {"layer_outputs": []}])
def test_where_batch_or_layers_are_unknown_nothing_tells_the_work(unknown: dict[str, object]) -> None:
    name = next(name for name, rule in operators().items() if rule.layerwise)
    assert layer_work(name, LAYERED.model_copy(update=unknown), 4) is None


def test_a_matrix_product_is_no_op_of_layers() -> None:
    assert layer_work("gemm", LAYERED, 4) is None
