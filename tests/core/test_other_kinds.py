"""A name given for another kind of entry: the sentence says what it is, and where it belongs."""

import pytest

from estimator.core import library
from estimator.core.other_kinds import of_other_kind
from estimator.devices import load_device


@pytest.mark.parametrize(
    ("wanted", "name", "sentence"),
    [
        (
            "device",
            "frontier",
            "'frontier' is a system, not a device: its devices are mi250x-gcd; a system is named by",
        ),
        ("device", "Frontier", "'estimator scale --system Frontier', in a study by 'system: Frontier'"),
        ("system", "h100", "'h100' is a device, not a system: it is in colossus, dgx-h100"),
        ("system", "h100", "or in a study 'device: h100'"),
        ("profile", "v100", "'v100' is a device, not a profile; a device is a target or a source"),
        ("device", "p1b3", "'p1b3' is a profile, not a device; a profile stands first"),
        ("profile", "lecture-example", "a study is named by 'estimator fom lecture-example'"),
    ],
)
def test_the_error_states_what_a_name_is(wanted: str, name: str, sentence: str) -> None:
    assert sentence in of_other_kind(wanted, name)


def test_unknown_names_are_of_no_kind() -> None:
    assert of_other_kind("device", "v10O") == ""
    assert of_other_kind("device", "v100") == ""


def test_every_system_of_the_library_tells_its_device() -> None:
    for name in library.names("devices", "systems/*.yaml"):
        sentence = of_other_kind("device", name)
        if sentence:  # a few devices have the name of a system
            load_device(sentence.partition("its devices are ")[2].partition(";")[0])
