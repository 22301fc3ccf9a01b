"""A small convolutional network, classes of 32×32 images: what the CANDLE suite has none of."""

import keras

from estimator.collect.capture import scaled

CLASSES = 10


def build(scale: float = 1.0) -> keras.Model:
    """Pairs of 3×3 convolutions with 32, 64 and 128 filters, batch normalization, a pool each; dense 256-10."""
    side, width = scaled(scale, 32, 256)
    model = keras.Sequential([keras.Input((side, side, 3))], name="cnn")
    for filters in (32, 64, 128):
        for _ in range(2):
            model.add(keras.layers.Conv2D(filters, 3, padding="same", use_bias=False))
            model.add(keras.layers.BatchNormalization())
            model.add(keras.layers.ReLU())
        model.add(keras.layers.MaxPooling2D(2, padding="same"))
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(width, activation="relu"))
    model.add(keras.layers.Dropout(0.5))
    model.add(keras.layers.Dense(CLASSES, activation="softmax"))
    model.compile(optimizer="adam", loss="categorical_crossentropy", jit_compile=False)
    return model
