"""Which library times the ops."""

import pytest

from estimator.collect.bench.libraries import choose
from estimator.collect.bench.types import FaultError


@pytest.mark.parametrize(("backend", "words"), [("abacus", "is not known"), ("jax", "pip install jax")])
def test_an_unavailable_back_end_is_refused(backend: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FaultError, match=words):
        choose(backend)
    assert choose("auto") == "numpy"
