"""The framework that a workload runs in, by the name that its file gives. Several packages need it."""

from __future__ import annotations

from typing import Literal, get_args

Framework = Literal["tensorflow", "torch", "jax", "other"]
BUILT_ON: dict[str, Framework] = {  # the framework that another one calls
    "keras": "tensorflow",  # by default; a name such as "Keras on JAX" says otherwise
    "megatron": "torch", "deepspeed": "torch", "nemo": "torch", "lightning": "torch",
    "flax": "jax",
}  # fmt: skip


def framework_of(name: str | None) -> Framework:
    """The framework by the name that a workload gives, such as "TensorFlow 2.18"; "other" where it is not known."""
    named: dict[str, Framework] = {known: known for known in get_args(Framework)[:-1]}
    return next((base for part, base in (named | BUILT_ON).items() if part in (name or "").lower()), "other")
