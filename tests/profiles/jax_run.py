"""A few training steps of a small perceptron under JAX's profiler: python tests/profiles/jax_run.py FOLDER

Prints the FLOP of one step as XLA's own cost analysis counts them.
"""

import itertools
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

BATCH, SIZES, STEPS = 128, (2000, 1500, 800, 16), 3


def loss(parameters: list[jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    for weights in parameters[:-1]:
        x = jax.nn.relu(x @ weights)
    return jnp.mean((x @ parameters[-1] - y) ** 2)


def step(parameters: list[jax.Array], x: jax.Array, y: jax.Array) -> list[jax.Array]:
    gradients = jax.grad(loss)(parameters, x, y)
    return [p - 1e-4 * g for p, g in zip(parameters, gradients, strict=True)]


def main(folder: Path) -> None:
    keys = jax.random.split(jax.random.key(0), len(SIZES) + 1)
    shapes = [*itertools.pairwise(SIZES), (BATCH, SIZES[0]), (BATCH, SIZES[-1])]
    *parameters, x, y = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    compiled = jax.jit(step).lower(parameters, x, y).compile()
    parameters = jax.block_until_ready(compiled(parameters, x, y))
    with jax.profiler.trace(folder):
        for _ in range(STEPS):
            parameters = jax.block_until_ready(compiled(parameters, x, y))
    print(compiled.cost_analysis()["flops"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
