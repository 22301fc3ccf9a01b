from collections.abc import Callable

import pytest

from estimator.core.types import StudyResult
from estimator.reports import study_documents


def test_keys_of_a_published_figure(shipped_study: Callable[[str], StudyResult]) -> None:
    (document,) = shipped_study("lecture-example").comparisons
    published = study_documents.published(document)
    assert tuple(published) == study_documents.PUBLISHED_KEYS
    assert (published["printed"], published["on"], published["mark"]) == (82.599, "machine-a", None)
    assert published["ours"]["value"]["mid"] == pytest.approx(82.5973, abs=5e-5)


def test_each_unit_has_the_chance_to_reach_the_threshold(shipped_study: Callable[[str], StudyResult]) -> None:
    """Of one unit, whose figure is its ratio, it is that of the figure."""
    document = study_documents.figures_of_merit(shipped_study("candle-fom"))
    for target in document["targets"].values():
        assert target["units"]["P1B3"]["p_threshold"] == target["p_threshold"] is not None
    assert document["baseline_units"]["P1B3"]["p_threshold"] is None
