"""The last results of pure functions of large arguments, found again by a hash of all that they depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST_RESULTS = 32  # that are kept of one function


@dataclass(frozen=True)
class _Call:
    """A call that has not been made yet; equal to all of one digest."""

    digest: str
    make: Callable[[], object] = field(compare=False)


def recalled(function: Callable[Arguments, Result]) -> Callable[..., Result]:
    """The function with a digest of its arguments as its first one: results are kept by that alone.

    Callers must not change a result. Errors are not kept.
    """

    @lru_cache(maxsize=MOST_RESULTS)
    def recall(call: _Call) -> object:
        return call.make()

    def call(digest: str, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        result: Result = recall(_Call(digest, lambda: function(*args, **kwargs)))  # type: ignore[assignment]
        return result

    return call
