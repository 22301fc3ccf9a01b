"""Training steps of convolutions and of a loop under JAX's profiler: python tests/profiles/jax_layers.py FOLDER

Prints the FLOP of one step as XLA's own cost analysis counts them, which takes one turn of a loop.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

BATCH, STEPS, TURNS, WIDTH = 8, 3, 5, 64
KERNELS = {  # sizes, with stride, hole of the window, and groups
    "strided": ((3, 3, 4, 16), 2, 1, 1),
    "grouped": ((3, 3, 4, 32), 1, 1, 4),
    "dilated": ((3, 3, 32, WIDTH), 1, 2, 1),
}
PARAMETERS = 3 * 3 * (4 * 16 + 4 * 32 + 32 * WIDTH) + WIDTH * WIDTH

Weights = dict[str, jax.Array]


def loss(weights: Weights, images: jax.Array) -> jax.Array:
    for name, (_, stride, hole, groups) in KERNELS.items():
        images = jax.nn.relu(
            jax.lax.conv_general_dilated(
                images, weights[name], (stride, stride), "SAME", rhs_dilation=(hole, hole),
                feature_group_count=groups, dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )
        )  # fmt: skip
    state, _ = jax.lax.scan(
        lambda state, _: (jnp.tanh(state @ weights["loop"]), None), images.mean((1, 2)), length=TURNS
    )
    return (state**2).mean()


def step(weights: Weights, moments: Weights, images: jax.Array) -> tuple[Weights, Weights]:
    """Gradient descent with momentum."""
    gradients = jax.grad(loss)(weights, images)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    return jax.tree.map(lambda w, m: w - 1e-3 * m, weights, moments), moments


def main(folder: Path) -> None:
    shapes = {name: sizes for name, (sizes, *_) in KERNELS.items()} | {"loop": (WIDTH, WIDTH)}
    weights = {name: jnp.full(sizes, 0.01) for name, sizes in shapes.items()}
    moments, images = jax.tree.map(jnp.zeros_like, weights), jnp.ones((BATCH, 32, 32, 4))
    compiled = jax.jit(step).lower(weights, moments, images).compile()
    weights, moments = jax.block_until_ready(compiled(weights, moments, images))
    with jax.profiler.trace(folder):
        for _ in range(STEPS):
            weights, moments = jax.block_until_ready(compiled(weights, moments, images))
    print(compiled.cost_analysis()["flops"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
