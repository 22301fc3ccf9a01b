"""Inception-v3, classes of 299×299 images (Szegedy et al., Rethinking the Inception Architecture, 2015)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """23.9 million parameters: blocks of parallel convolutions, 7×7 split into 1×7 and 7×1; no auxiliary classifier."""
    (side,) = scaled(scale, 299)
    model = keras.applications.InceptionV3(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
