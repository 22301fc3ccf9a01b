"""ResNet-50, classes of 224×224 images (He et al., Deep Residual Learning for Image Recognition, 2015)."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """25.6 million parameters: bottleneck blocks of 1×1, 3×3 and 1×1 convolutions, the stride in the first of them."""
    (side,) = scaled(scale, 224)
    model = keras.applications.ResNet50(weights=None, input_shape=(side, side, 3))
    sgd = keras.optimizers.SGD(momentum=0.9)
    model.compile(optimizer=sgd, loss="categorical_crossentropy", jit_compile=False)
    return model
