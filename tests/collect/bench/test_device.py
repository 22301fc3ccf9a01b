"""The cache that arrays reach."""

import pytest

from estimator.collect.bench import device
from estimator.collect.bench.device import filled_part, rate_of_reading, reached_cache
from estimator.collect.bench.numpy_library import Numpy


@pytest.mark.parametrize(("part", "expected"), [(60, 120), (70, 120), (480, 480), (250, 480), (1, 480)])
def test_filled_part_of_a_cache(part: float, expected: float) -> None:
    """Twice the largest array that is reread faster; the whole cache where there is none."""
    mib = 2.0**20
    assert filled_part(480 * mib, lambda size: 30e9 if size <= part * mib else 15e9) == expected * mib
    assert filled_part(480 * mib, lambda size: 15e9) == 480 * mib


def test_the_cache_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    library, named = Numpy("cpu", 1), [2.0**28, 2.0**28]
    assert 1e8 < rate_of_reading(library.np, 1e6) < 1e13
    monkeypatch.setattr(device, "memory", lambda key: 2.0**40)
    monkeypatch.setattr(device, "last_level_caches", lambda: named)
    monkeypatch.setattr(device, "rate_of_reading", lambda np, size: 1e10 if size > 2.0**24 else 2e10)
    assert reached_cache(library) == 2 * 2.0**25
    monkeypatch.setattr(device, "memory", lambda key: 2.0**28)  # too little to tell
    assert reached_cache(library) == 2 * 2.0**28
    named.clear()
    assert reached_cache(library) is None
