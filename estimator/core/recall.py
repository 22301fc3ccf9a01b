"""The last results of pure functions of large arguments, found again by a hash of all that they depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Call:
    """A call that has perhaps been made before; equal to all of one digest."""

    digest: str
    compute: Callable[[], object] = field(compare=False)


class Recall:
    """The last ``most`` results, by their digests. Callers must not change a result; errors are not kept."""

    def __init__(self, most: int = 32) -> None:
        self._result_of = lru_cache(maxsize=most)(lambda call: call.compute())

    def __call__(self, digest: str, compute: Callable[[], Result]) -> Result:
        """The result of one digest: that which is kept, else computed; without a digest it is not kept."""
        if not digest:
            return compute()
        result: Result = self._result_of(_Call(digest, compute))
        return result
