"""VGG-16, classes of 224×224 images (Simonyan & Zisserman, Very Deep Convolutional Networks, 2014)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """138 million parameters: thirteen 3×3 convolutions, dense layers 4096-4096-1000."""
    (side,) = scaled(scale, 224)
    model = keras.applications.VGG16(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
