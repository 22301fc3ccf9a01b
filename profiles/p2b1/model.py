"""CANDLE P2B1, autoencoder of lipids' molecular dynamics."""

import keras

from estimator.collect.capture import scaled

BEADS, FEATURES, NEIGHBOURS = 12, 20, 201
PENALTY = keras.regularizers.L2(0.01)


def build(scale: float = 1.0) -> keras.Model:
    """Convolutions 256 and 128 whose square kernels stride over 48,240 numbers of a molecule; dense layers
    64-32-16-8-16-32-64-128-256-48240. ELU, batch normalization behind each but the last, which ends in tanh.
    """
    neighbours, *widths = scaled(scale, NEIGHBOURS, 64, 32, 16, 8, 16, 32, 64, 128, 256)
    length = BEADS * FEATURES * neighbours
    model = keras.Sequential([keras.Input((1, length, 1))], name="p2b1")
    for filters, size in ((256, FEATURES), (128, BEADS)):
        convolution = keras.layers.Conv2D(
            filters, size, (1, size), "same", activation="elu", use_bias=False, kernel_regularizer=PENALTY
        )
        model.add(convolution)
        model.add(keras.layers.BatchNormalization())
    model.add(keras.layers.Flatten())
    for width in widths:
        model.add(keras.layers.Dense(width, activation="elu", use_bias=False, kernel_regularizer=PENALTY))
        model.add(keras.layers.BatchNormalization())
        model.add(keras.layers.Dropout(0.5))
    model.add(keras.layers.Dense(length, activation="tanh", use_bias=False, kernel_regularizer=PENALTY))
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    return model
