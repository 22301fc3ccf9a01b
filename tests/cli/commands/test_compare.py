"""``estimator compare``: an estimate for each profile and device."""

from tests.cli.command_line import read


def test_each_device_has_an_estimate() -> None:
    document = read("compare", "p1b3", "--to", "v100", "--to", "a100")
    assert [estimate["target"] for estimate in document["estimates"]] == ["v100-sxm2-16gb", "a100-sxm4-80gb"]
    assert document["estimates"][0] == read("estimate", "p1b3", "--to", "v100")


def test_options_of_the_plan_reach_every_estimate() -> None:
    document = read("compare", "p1b3/amd-epyc.tfprof", "--to", "v100", "--fusion", "elementwise")
    assert document["estimates"][0]["fusion"]["ops"] > 0
    document = read("compare", "nt3", "--to", "v100", "--batch", "40", "--mode", "inference")
    assert (document["estimates"][0]["batch_size"], document["estimates"][0]["mode"]) == (40, "inference")
