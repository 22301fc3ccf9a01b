"""The shipped workloads that are given as layers, against what their sources print."""

import pytest

from estimator.core.schema import MATRIX
from estimator.profiles import read_profile, shipped
from estimator.work import count_work

PARAMETERS = {  # as Hugging Face counts them; those of GPT-3 to four digits, Brown et al., 2020, table D.1
    "gpt2": 124_439_808,
    "bert-large": 336_226_108,
    "llama2-7b": 6_738_415_616,
    "gpt3-175b": 174_604_259_328,
    "mpt-7b": 6_649_286_656,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name: str) -> None:
    assert read_profile(name).workload.parameters == PARAMETERS[name]
    assert shipped()[name].parameters in (None, PARAMETERS[name])
    assert shipped()[name].source


def test_training_flop_of_gpt3() -> None:
    """Brown et al., 2020, table D.1: 3.14e23 FLOP for 300 billion tokens, 6 for each parameter and token."""
    read = read_profile("gpt3-175b")
    work = count_work(read.ops, read.workload).work
    again = work["op"].str.endswith("/again")
    flop = float(work.loc[work["op_class"].isin(MATRIX) & ~again, "flop"].sum())
    attention = float(work.loc[work["op_class"].eq("attention") & ~again, "flop"].sum())
    assert (flop - attention) * 300e9 / 2048 == pytest.approx(3.14e23, rel=0.01)
