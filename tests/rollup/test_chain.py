import numpy as np
import pytest

from estimator.core.types import Number
from estimator.rollup import chain

GIVEN = {
    "step_s": 0.1,
    "samples": 1050,
    "batch_size": 100,
    "epochs": 3,
    "load_s": 60,
    "workers_per_node": 6,
    "nodes": 8,
}


def numbers() -> dict[str, Number]:
    return {name: chain.given(f"m/u/{name}", name, value, "1", "device", "test") for name, value in GIVEN.items()}


def test_rolls_up_as_in_the_lecture() -> None:
    derived = chain.derive("m/u", "device", numbers())
    values = {name: float(number.samples[0]) for name, number in derived.items()}
    assert values["steps_per_epoch"] == 10
    assert values["epoch_s"] == pytest.approx(1.0)
    assert values["time_per_unit_s"] == pytest.approx(63.0)
    assert values["runs_per_day"] == pytest.approx(86400 / 63)
    assert values["runs_per_day_per_node"] == pytest.approx(6 * 86400 / 63)
    assert values["units_per_day"] == pytest.approx(8 * 6 * 86400 / 63)


def test_steps_per_epoch_rounded_up() -> None:
    derived = chain.derive("m/u", "device", numbers(), chain.chain_rounded(True))
    assert derived["steps_per_epoch"].samples[0] == 11
    assert derived["steps_per_epoch"].formula.startswith("ceil")


def test_steps_are_rounded_up_behind_a_batch_that_follows_from_copies() -> None:
    """3 copies of 7 samples: 1050 samples fill 50 batches of 21; 1051 need one more."""
    given = {name: number for name, number in numbers().items() if name != "batch_size"}
    for name, value in {"local_batch": 7, "copies": 3, "samples": 1051}.items():
        given[name] = chain.given(f"m/u/{name}", name, value, "1", "device", "test")
    steps = [chain.derive("m/u", "device", given, chain.chain_rounded(up))["steps_per_epoch"] for up in (False, True)]
    assert [step.samples[0] for step in steps] == [50, 51]


def test_an_epoch_that_ends_with_a_validation() -> None:
    held_out = {"validation_samples": 101, "forward_s": 0.03}
    given = {name: chain.given(f"m/u/{name}", name, value, "1", "device", "test") for name, value in held_out.items()}
    derived = chain.derive("m/u", "device", numbers() | given)
    assert derived["validation_steps"].samples[0] == 2
    assert derived["epoch_s"].samples[0] == pytest.approx(1.06)
    assert derived["epoch_s"].formula == "step time × steps per epoch + forward time × validation steps"


def test_every_number_names_formula_inputs_and_level() -> None:
    derived = chain.derive("m/u", "device", numbers())
    ids = {number.id for number in derived.values()}
    for name, number in derived.items():
        assert number.formula
        assert set(number.inputs) <= ids
        assert bool(number.inputs) != (name in GIVEN)
    levels = [derived[name].level for name in ("runs_per_day", "runs_per_day_per_node", "units_per_day")]
    assert levels == ["device", "node", "system"]


def test_given_quantities_are_kept_and_underivable_ones_left_out() -> None:
    some = {k: v for k, v in numbers().items() if k in ("workers_per_node", "nodes")}
    assert set(chain.derive("m/u", "node", some)) == {"workers_per_node", "nodes"}
    some["time_per_unit_s"] = chain.given("m/u/time_per_unit_s", "time", 3600, "s", "node", "test")
    assert chain.derive("m/u", "node", some)["units_per_day"].samples[0] == 24 * 6 * 8


def test_samples_are_rolled_up_one_by_one() -> None:
    given = numbers() | {"step_s": chain.given("m/u/step_s", "step", np.array([0.1, 0.2]), "s", "device", "test")}
    assert chain.derive("m/u", "device", given)["epoch_s"].samples == pytest.approx([1.0, 2.0])


def test_a_given_number_tells_where_it_comes_from() -> None:
    number = chain.given("m/u/nodes", "nodes", 8, "1", "system", "a paper")
    assert (number.id, number.label, number.unit, number.level, number.source) == (
        "m/u/nodes", "nodes", "1", "system", "a paper",
    )  # fmt: skip
    assert (number.formula, number.inputs, number.samples.tolist()) == ("given", (), [8.0])
    assert chain.given("m/u/n", "n", np.array([1, 2]), "1", "system", "", "read").formula == "read"


def test_a_derived_number_is_named_after_its_link() -> None:
    actual = chain.derive("m/u", "device", numbers())["epoch_s"]
    assert (actual.id, actual.label, actual.unit, actual.level) == ("m/u/epoch_s", "time per epoch", "s", "device")
    assert actual.inputs == ("m/u/step_s", "m/u/steps_per_epoch")


def test_ratios_are_over_the_baseline_at_every_level() -> None:
    rates = chain.derive("m/u", "device", numbers())
    baseline = {f"baseline.{name}": chain.given(f"b/{name}", name, 10, "1/day", "", "") for name in rates}
    actual = chain.derive("m/u", "device", rates | baseline, chain.RATIOS)
    levels = {"ratio_worker": "runs_per_day", "ratio_node": "runs_per_day_per_node", "ratio": "units_per_day"}
    for name, rate in levels.items():
        assert actual[name].samples == pytest.approx(rates[rate].samples / 10)
        assert actual[name].level == rates[rate].level


def test_a_link_may_depend_on_what_is_no_input_of_it() -> None:
    twice = chain.Link("b", "", "1", "worker", "2a", lambda a: 2 * a, ("a",), when=("c",))
    given = {name: chain.given(name, name, 1, "1", "device", "test") for name in ("a", "c")}
    assert "b" not in chain.derive("m", "device", {"a": given["a"]}, (twice,))
    actual = chain.derive("m", "device", given, (twice,))["b"]
    assert (actual.samples.tolist(), actual.inputs) == ([2], ("a",))
