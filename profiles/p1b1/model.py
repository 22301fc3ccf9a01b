"""CANDLE P1B1, autoencoder of gene expression."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """Dense layers 60483-2000-600-2-600-2000-60483, ReLU, sigmoid behind the last."""
    features, outer, inner, latent = scaled(scale, 60483, 2000, 600, 2)
    model = keras.Sequential([keras.Input((features,))], name="p1b1")
    for width in (outer, inner, latent, inner, outer):
        model.add(keras.layers.Dense(width, activation="relu"))
    model.add(keras.layers.Dense(features, activation="sigmoid"))
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    return model
