"""Where sentences of a report hold."""

from estimator.reports.places import EVERYWHERE, shortened

PAIRS = [("old", "A"), ("old", "B"), ("new", "A"), ("new", "B")]


def test_a_machine_or_a_unit_stands_for_all_of_its_pairs() -> None:
    assert shortened(["old/A", "old/B"], PAIRS) == ["old"]
    assert shortened(["old/A", "new/A"], PAIRS) == ["A"]
    assert shortened(["old/A", "old/B", "new/B"], PAIRS) == ["old", "B"]
    assert shortened(["new/B"], PAIRS) == ["new/B"]


def test_all_pairs_are_everywhere_and_other_places_keep_their_name() -> None:
    assert shortened(["old/A", "old/B", "new/A", "new/B"], PAIRS) == [EVERYWHERE]
    assert shortened(["an audit", "old/A", "an audit"], PAIRS) == ["an audit", "old/A"]
    assert shortened(["old"], PAIRS) == ["old"]
