"""Xception, classes of 299×299 images (Chollet, Deep Learning with Depthwise Separable Convolutions, 2016)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """22.9 million parameters: depthwise separable 3×3 convolutions with shortcuts around each pair or triple."""
    (side,) = scaled(scale, 299)
    model = keras.applications.Xception(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
