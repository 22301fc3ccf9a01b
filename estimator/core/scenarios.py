"""What a plan declares of the target's host and of its input, as files and command lines write it."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator

HostWord = Literal["profile", "none"]
InputWord = Literal["carried", "overlapped", "none"]
FACTORS = (1e-6, 1e6)  # of a host's time, so that all that follows stays a number


def read_host(written: object) -> HostWord | float | None:
    """Accept a word, a factor in FACTORS, or None. Raises ValueError with the tail of a sentence."""
    if written is None or written in get_args(HostWord):
        return written  # type: ignore[return-value]
    refusal = f"is {written!r}; write profile, none, or a factor from {FACTORS[0]:g} to {FACTORS[1]:g}, such as 0.5"
    if isinstance(written, bool) or not isinstance(written, (str, int, float)):
        raise ValueError(refusal)
    try:
        factor = float(written)
    except ValueError:
        raise ValueError(refusal) from None
    if not FACTORS[0] <= factor <= FACTORS[1]:
        raise ValueError(refusal)
    return factor


def read_input(written: object) -> InputWord | None:
    """Accept a word, or None. Raises ValueError with the tail of a sentence."""
    if written is None or written in get_args(InputWord):
        return written  # type: ignore[return-value]
    raise ValueError(f"is {written!r}; write carried, overlapped, or none")


# the source's host, none, or so many times what it is by default; None: as suits the target
Host = Annotated[HostWord | float | None, BeforeValidator(read_host)]
# time in which input is read: as profiled, in parallel with the step before, or none; None: as suits the host
Input = Annotated[InputWord | None, BeforeValidator(read_input)]
