"""Numbers of a device or system by dotted field name."""

from __future__ import annotations

from collections.abc import Iterator

from estimator.core.types import File, Sourced


def sourced_values(spec: File) -> Iterator[tuple[str, Sourced]]:
    """Yield every number of a device or system with its dotted field name."""
    yield from _sourced("", spec)


def _sourced(prefix: str, value: object) -> Iterator[tuple[str, Sourced]]:
    if isinstance(value, Sourced):
        yield prefix, value
    elif isinstance(value, File):
        for name in type(value).model_fields:
            yield from _sourced(f"{prefix}.{name}".lstrip("."), getattr(value, name))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _sourced(f"{prefix}.{name}", item)
