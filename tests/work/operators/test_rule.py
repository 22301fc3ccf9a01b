import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.work.operators import FAMILIES, rule_of
from estimator.work.operators.rule import Family, Rule, compiled, may_match, plain_texts

RULES = [rule for family in FAMILIES for rule in family.rules]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("Sum", (("Sum",),)),
        ("Mul|MulNoNan", (("Mul",), ("MulNoNan",))),
        ("(Pad)?Conv[123]D(With\\w+)?", (("Conv", "D"),)),
        ("Erfc?", (("Erf",),)),
        ("(Max|Avg)Pool(3D|(V2)){1,2}", (("Pool",),)),
        (r"enumerate\(DataLoader\)\S*|x+y", (("enumerate", "DataLoader"), ("y",))),
        (r"\w+|a", ((), ("a",))),
    ],
)
def test_plain_texts_are_the_literals_of_each_alternative(pattern: str, texts: tuple[tuple[str, ...], ...]) -> None:
    assert plain_texts(pattern) == texts


@given(data=st.data())
def test_every_name_that_matches_a_rule_may_match_it(data: st.DataObject) -> None:
    rule = data.draw(st.sampled_from(RULES))
    name = data.draw(st.from_regex(compiled(rule.names), fullmatch=True))
    assert may_match(rule.names, name)


def test_the_first_rule_that_matches_a_whole_name_decides() -> None:
    family = Family("toy", r"_?", r"", (Rule("max_pool", r"MaxPool\w*"), Rule("max", r"Max"), Rule("sum", r"Max\w+")))
    operators = {
        name: rule and rule.operator for name in ("MaxPool3", "_Max", "Maxes", "AMax") for rule in [family.find(name)]
    }
    assert operators == {"MaxPool3": "max_pool", "_Max": "max", "Maxes": "sum", "AMax": None}


def test_a_rule_knows_its_operator_and_its_framework() -> None:
    rule = rule_of("aten::native_layer_norm_backward")
    assert rule is not None
    assert (rule.properties.op_class, rule.properties.direction, rule.framework) == (
        "normalization",
        "backward",
        "torch",
    )
    assert rule.channels_first
    conv = rule_of("Conv2DBackpropFilter")
    assert conv is not None
    assert conv.operands == ("image", "weights_sizes", "output")
    assert not conv.channels_first
