"""MobileNet, classes of 224×224 images (Howard et al., MobileNets, 2017)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """4.3 million parameters: depthwise 3×3 convolutions, each with a 1×1 convolution behind it."""
    (side,) = scaled(scale, 224)
    model = keras.applications.MobileNet(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
