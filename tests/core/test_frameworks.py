"""Which framework a workload runs in."""

import pytest

from estimator.core.frameworks import BUILT_ON, framework_of


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("TensorFlow 2.18", "tensorflow"),
        ("PyTorch", "torch"),
        ("JAX 0.4", "jax"),
        ("Keras", "tensorflow"),
        ("Keras on JAX", "jax"),
        ("Megatron-LM", "torch"),
        ("Flax", "jax"),
        ("our own", "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_a_framework_is_known_by_its_name_or_by_what_it_is_built_on(name: str | None, framework: str) -> None:
    assert framework_of(name) == framework


def test_names_are_written_as_they_are_compared() -> None:
    assert all(name == name.lower() for name in BUILT_ON)
