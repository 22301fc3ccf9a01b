"""CANDLE P3B2, a language model of medical texts by their characters."""

import keras

from estimator.collect.capture import scaled

CHARACTERS = 99


def build(scale: float = 1.0) -> keras.Model:
    """An LSTM of 64 over 20 one-hot characters, unrolled: a loop hides its shapes; softmax over the next character."""
    (length,) = scaled(scale, 20)
    layers = [keras.layers.LSTM(64, unroll=True), keras.layers.Dense(CHARACTERS, activation="softmax")]
    model = keras.Sequential([keras.Input((length, CHARACTERS)), *layers], name="p3b2")
    model.compile(optimizer="rmsprop", loss="categorical_crossentropy", jit_compile=False)
    return model
