"""Numbers that a study gives to a chain."""

from estimator.studies.given import STUDY_FILE, Given, numbers_of


def test_a_number_has_its_chains_prefix_and_its_source() -> None:
    given = (
        Given("epochs", "epochs", 3, "1", "device", STUDY_FILE),
        Given("load_s", "load", 9.0, "s", "device", "x", "y"),
    )
    epochs, load = numbers_of("m/u", given).values()
    assert (epochs.id, epochs.label, epochs.unit, epochs.level) == ("m/u/epochs", "epochs", "1", "device")
    assert (epochs.samples.tolist(), epochs.source, epochs.formula, epochs.inputs) == ([3], "study file", "given", ())
    assert (load.id, load.formula) == ("m/u/load_s", "y")
