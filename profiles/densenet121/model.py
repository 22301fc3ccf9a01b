"""DenseNet-121, classes of 224×224 images (Huang et al., Densely Connected Convolutional Networks, 2016)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """8.1 million parameters: each layer reads the concatenated outputs of all before it in its block."""
    (side,) = scaled(scale, 224)
    model = keras.applications.DenseNet121(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
