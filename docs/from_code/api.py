"""The public verbs of the package, each documented where it is defined."""

from __future__ import annotations

import inspect

import estimator


def markdown() -> str:
    """One entry for each public name, under the name that users import."""
    names = [name for name in estimator.__all__ if not name.startswith("_")]
    return "\n\n".join(f"## {name}\n\n```{{eval-rst}}\n{_directive(name)}\n```" for name in names)


def _directive(name: str) -> str:
    kind = "autoclass" if inspect.isclass(getattr(estimator, name)) else "autofunction"
    return f".. {kind}:: estimator.{name}" + ("\n   :members:" if kind == "autoclass" else "")
