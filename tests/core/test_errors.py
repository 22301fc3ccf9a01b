from estimator.core.errors import EstimatorError, kind_of_value, suggestion


def test_each_fault_is_one_line() -> None:
    assert str(EstimatorError("one", "two")) == "one\ntwo"


def test_suggestions_are_near_and_proper() -> None:
    assert suggestion("memory_bandwith", ["memory_bandwidth", "memory_type"]) == " Did you mean memory_bandwidth?"
    aliases = {"v100": "v100-sxm2-16gb", "nv_v100": "v100-sxm2-16gb", "k20x": "k20x"}
    assert suggestion("V10O", aliases, aliases) == " Did you mean v100-sxm2-16gb?"
    assert suggestion("zzzz", aliases) == ""
    assert suggestion("kind", ["link", "name", "vendor"]) == ""


def test_unknown_values_are_named_by_their_kind_alone() -> None:
    values = ({"token": "x"}, ["x"], "x", 1, 1.5, True, None)
    kinds = ["an object", "a list", "a text", "a number", "a number", "true or false", "another value"]
    assert [kind_of_value(value) for value in values] == kinds
