"""What a step keeps, by the arrays that its program takes and gives."""

import pytest

from estimator.profiles.xplane.passes import IN_PASSES, IN_PASSES_ALONE, IN_UPDATE
from estimator.profiles.xplane.state import State, Taken, kept_state

SIZES = {"['a']['kernel']": (8, 4), "['a']['bias']": (4,), "['b']['kernel']": (4, 4), "['b']['bias']": (4,)}
COUNT = 32 + 4 + 16 + 4
NUMBERED = {f".states[0][{number}]": sizes for number, sizes in enumerate(SIZES.values())}
BATCH = {"x": (16, 8)}


def arrays(prefix: str, leaves: dict[str, tuple[int, ...]] = SIZES) -> dict[str, tuple[int, ...]]:
    return {prefix + name: sizes for name, sizes in leaves.items()}


def state_of(kept: dict[str, tuple[int, ...]], precision: str = "fp32") -> State | None:
    """The state of a step that takes arrays and a batch, and gives the arrays back."""
    taken = [Taken(name, (precision, sizes)) for name, sizes in (BATCH | kept).items()]
    return kept_state(taken, [*((precision, sizes) for sizes in kept.values()), ("fp32", (16, 10))])


@pytest.mark.parametrize(
    ("kept", "slots"),
    [
        (arrays("p"), 0),  # gradient descent
        (arrays("p") | arrays("s[0].trace"), 1),
        (arrays("p") | arrays("s[1][0].mu") | arrays("s[1][0].nu"), 2),
        (arrays("state.params") | arrays("state.opt_state[0].mu") | arrays("state.opt_state[0].nu"), 2),
        (arrays("carry[0]") | arrays("carry[1][0].trace"), 1),
        (arrays("p") | arrays("m") | arrays("v"), 2),  # an optimizer by hand
        (arrays("p") | arrays("o['m']") | arrays("o['v']"), 2),
        (arrays("model", NUMBERED) | arrays("optimizer[0]", NUMBERED) | arrays("optimizer[1]", NUMBERED), 2),
        (arrays("p") | {"s[0].mu['b']['kernel']": (4, 4)}, 16 / COUNT),  # only some weights are trained
        (arrays("s['params']") | arrays("s['m']") | arrays("s['v']"), 2),
        (arrays("runner[0].params") | arrays("runner[0].opt[0].trace"), 1),
        (arrays("p") | arrays("s.sums") | arrays("s.inner[0].mu") | arrays("s.inner[0].nu"), 3),  # of micro-batches
        (arrays("state.params") | arrays("state.average") | arrays("state.opt[0].trace"), 2),
        (arrays("state.params") | arrays("state.opt[0].trace") | arrays("target"), 2),
    ],
)
def test_states_are_known_by_their_places(kept: dict[str, tuple[int, ...]], slots: float) -> None:
    state = state_of(kept)
    assert state is not None
    assert state.parameters == COUNT
    assert state.slots == pytest.approx(slots)


@pytest.mark.parametrize("names", [("p[0]['a']", "p[1]['a']", "p[2]['a']"), ("w1", "w2", "w3")])
def test_layers_of_one_size_are_no_states(names: tuple[str, ...]) -> None:
    assert state_of(dict.fromkeys(names, (4, 4))) == State(3 * 16, 0.0)


def test_two_networks_keep_states_of_their_own() -> None:
    other = {"['a']['kernel']": (9, 4), "['a']['bias']": (4,)}
    kept = arrays("pg") | arrays("pd", other) | arrays("sg[0].mu") | arrays("sg[0].nu") | arrays("sd[0].trace", other)
    assert state_of(kept) == State(COUNT + 40, (2 * COUNT + 40) / (COUNT + 40))


def test_equal_networks_in_states_of_their_own() -> None:
    kept = {name: sizes for of in "gd" for name, sizes in (arrays(f"{of}.params") | arrays(f"{of}.opt[0].mu")).items()}
    assert state_of(kept) == State(2 * COUNT, 1.0)
    together = {name.replace("g.", "c.g_").replace("d.", "c.d_"): sizes for name, sizes in kept.items()}
    together["c.d_params['c']"] = together["c.d_opt[0].mu['c']"] = (7, 7)  # as networks differ
    assert state_of(together) == State(2 * COUNT + 49, 1.0)


def test_another_array_that_comes_back_changes_no_state() -> None:
    kept = arrays("state.params") | arrays("state.opt[0].mu") | {"confusion": (10, 10)}
    assert state_of(kept) == State(COUNT + 100, COUNT / (COUNT + 100))


def test_layers_in_fields_are_no_states() -> None:
    """A model of dataclasses, trained by gradient descent."""
    layers = {"model.inp.w": (9, 9), "model.inp.b": (9,), "model.b1.up.w": (9, 9), "model.b1.down.w": (9, 9)}
    assert state_of(layers) == State(3 * 81 + 9, 0.0)


def test_arrays_without_elements_are_nothing() -> None:
    assert state_of({"p": (0, 8)}) is None


def test_a_state_may_have_another_format() -> None:
    taken = [Taken("p[0]", ("fp32", (8, 4))), Taken("s[0].mu[0]", ("bf16", (8, 4)))]
    assert kept_state(taken, [each.array for each in taken]) == State(32, 0.5, "fp32")


def test_a_model_may_be_in_a_narrow_format_throughout() -> None:
    assert state_of(arrays("p") | arrays("s[0].trace"), "bf16") == State(COUNT, 1.0, "bf16")


def test_a_batch_of_a_weight_s_sizes_is_not_kept() -> None:
    taken = [Taken("x", ("fp32", (4, 4))), Taken("p['a']", ("fp32", (4, 4)))]
    assert kept_state(taken, [("fp32", (4, 4))]) == State(16, 0.0)


def test_without_names_or_arrays_that_come_back_nothing_is_known() -> None:
    assert kept_state([Taken("", ("fp32", (4, 4)))], [("fp32", (4, 4))]) is None
    assert state_of({}) is None


def used(**arrays: str) -> list[Taken]:
    """Arrays of one size, by name, with what computes with them."""
    return [Taken(name, ("fp32", (4, 4)), use, use == IN_PASSES_ALONE) for name, use in arrays.items()]


def state_by_use(taken: list[Taken]) -> State | None:
    return kept_state(taken, [each.array for each in taken])


def test_arrays_that_the_update_alone_uses_are_states() -> None:
    """Single arrays, of which the names tell nothing."""
    weights = used(w1=IN_PASSES, w2=IN_PASSES)
    assert state_by_use([*weights, *used(m1=IN_UPDATE, m2=IN_UPDATE)]) == State(32, 1.0)


@pytest.mark.parametrize(
    ("use", "state"),
    [
        (IN_PASSES_ALONE, State(48, 1.0, "fp32")),  # copies, which the update makes of their masters
        (IN_PASSES, State(48, 4.0, "bf16")),  # weights, to which the update adds, with two wide states
    ],
)
def test_narrow_copies_of_weights_are_no_weights(use: str, state: State) -> None:
    names = ("['a']", "['b']", "['c']")
    narrow = [Taken(f"h{name}", ("bf16", (4, 4)), use) for name in names]
    wide = [Taken(f"{of}{name}", ("fp32", (4, 4)), IN_UPDATE) for of in "mt" for name in names]
    assert state_by_use([*narrow, *wide]) == state


def test_an_average_of_weights_that_a_pass_uses_is_a_state_where_its_name_says_so() -> None:
    average = arrays("state.params") | arrays("state.opt[0].trace") | arrays("target")
    taken = [Taken(name, ("fp32", of), IN_UPDATE if ".opt" in name else IN_PASSES) for name, of in average.items()]
    assert state_by_use(taken) == State(COUNT, 2.0)


def test_weights_that_come_back_as_they_were_are_not_trained() -> None:
    assert state_by_use(used(w1=IN_PASSES_ALONE, w2=IN_PASSES)) == State(16, 0.0, frozen=16)


def test_where_gradients_alone_come_back_the_states_are_elsewhere() -> None:
    taken = used(w1=IN_PASSES)
    assert kept_state(taken, [taken[0].array], gradients=[taken[0].array]) == State(16, None)
