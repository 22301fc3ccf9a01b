from estimator.work.operators import rule_of
from estimator.work.operators.rule import Family, Rule


def test_the_first_rule_that_fits_a_whole_name_decides() -> None:
    family = Family("toy", r"_?", r"", (Rule("max_pool", r"MaxPool\w*"), Rule("max", r"Max"), Rule("sum", r"Max\w+")))
    found = {
        name: rule and rule.operator for name in ("MaxPool3", "_Max", "Maxes", "AMax") for rule in [family.find(name)]
    }
    assert found == {"MaxPool3": "max_pool", "_Max": "max", "Maxes": "sum", "AMax": None}


def test_a_rule_knows_its_operator_and_its_framework() -> None:
    rule = rule_of("aten::native_layer_norm_backward")
    assert rule is not None
    assert (rule.of.op_class, rule.of.direction, rule.framework) == ("normalization", "backward", "torch")
    assert rule.channels_first
    conv = rule_of("Conv2DBackpropFilter")
    assert conv is not None
    assert conv.operands == ("image", "weights_sizes", "output")
    assert not conv.channels_first
