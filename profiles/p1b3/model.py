"""CANDLE P1B3, drug response of cell lines."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """Dense layers 29532-1000-500-100-50-1, ReLU, dropout after each hidden layer."""
    features, *widths = scaled(scale, 29532, 1000, 500, 100, 50)
    model = keras.Sequential([keras.Input((features,))], name="p1b3")
    for width in widths:
        model.add(keras.layers.Dense(width, activation="relu"))
        model.add(keras.layers.Dropout(0.1))
    model.add(keras.layers.Dense(1))
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)  # XLA would rename and fuse what the lecture lists
    return model
