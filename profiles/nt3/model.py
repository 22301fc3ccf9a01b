"""CANDLE NT3, normal or tumour tissue by gene expression."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0, classes: int = 2) -> keras.Model:
    """Two convolutions of 128 filters over 60,483 genes, kernels 20 and 10, each with its pool; dense layers 200-20."""
    genes, *widths = scaled(scale, 60483, 200, 20)
    model = keras.Sequential([keras.Input((genes, 1))], name="nt3")
    for kernel, pool in ((20, 1), (10, 10)):
        model.add(keras.layers.Conv1D(128, kernel, activation="relu"))
        model.add(keras.layers.MaxPooling1D(pool))
    model.add(keras.layers.Flatten())
    for width in widths:
        model.add(keras.layers.Dense(width, activation="relu"))
        model.add(keras.layers.Dropout(0.1))
    model.add(keras.layers.Dense(classes, activation="softmax"))
    model.compile(optimizer="sgd", loss="categorical_crossentropy", jit_compile=False)
    return model
