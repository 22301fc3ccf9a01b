"""CANDLE P1B2, classification of tumours by their mutations."""

import keras

from estimator.collect.capture import scaled


class Penalty(keras.regularizers.L2):
    """In fp32, as the loss is that it is added to, also where activations are in bf16."""

    def __call__(self, x: keras.KerasTensor) -> keras.KerasTensor:
        """The penalty on these weights."""
        return super().__call__(keras.ops.cast(x, "float32"))


def build(scale: float = 1.0) -> keras.Model:
    """Dense layers 28204-1024-512-256-10, sigmoid, L2 penalties on weights and activations, softmax behind the last."""
    features, *widths = scaled(scale, 28204, 1024, 512, 256)
    penalty = Penalty(1e-5)
    model = keras.Sequential([keras.Input((features,))], name="p1b2")
    for width, activation in (*((width, "sigmoid") for width in widths), (10, "softmax")):
        model.add(
            keras.layers.Dense(width, activation=activation, kernel_regularizer=penalty, activity_regularizer=penalty)
        )
    model.compile(optimizer="rmsprop", loss="categorical_crossentropy", jit_compile=False)
    return model
