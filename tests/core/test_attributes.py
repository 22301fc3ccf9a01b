import pandas as pd

from estimator.core.attributes import attribute_values, has_attribute, with_attribute


def test_an_attribute_is_added_behind_those_of_a_row() -> None:
    attributes = pd.Series(["a=1", None, "b=2", None], dtype="string")
    added = pd.Series(["c=3", "c=4", None, None], dtype="string")
    assert with_attribute(attributes, added).fillna("").tolist() == ["a=1;c=3", "c=4", "b=2", ""]


def test_attributes_are_found_whole_wherever_they_stand() -> None:
    rows = pd.DataFrame(
        {"attributes": pd.Series(["bias=1;ranks=8", "ranks=16", "my_bias=1;ranks=", None], dtype="string")}
    )
    assert has_attribute(rows, "bias=1").tolist() == [True, False, False, False]
    assert attribute_values(rows, "ranks", r"\d+").fillna("").tolist() == ["8", "16", "", ""]
    assert attribute_values(rows, "bias").fillna("").tolist() == ["1", "", "", ""]
