"""CANDLE Combo, growth of cell lines under pairs of drugs."""

import keras

from estimator.collect.capture import scaled


def build(scale: float = 1.0) -> keras.Model:
    """Encoders cell 942-1000-1000-1000 and drug 3820-1000-1000-1000, this for two; joined 3000-1000-1000-1000-1."""
    expressions, descriptors, *widths = scaled(scale, 942, 3820, 1000, 1000, 1000)
    cell, drug = tower("cell", widths), tower("drug", widths)
    inputs = [keras.Input((size,)) for size in (expressions, descriptors, descriptors)]
    joined = keras.layers.Concatenate()([cell(inputs[0]), drug(inputs[1]), drug(inputs[2])])
    growth = keras.layers.Dense(1)(tower("growth", widths)(joined))
    model = keras.Model(inputs, growth, name="combo")
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    return model


def tower(name: str, widths: list[int]) -> keras.Model:
    """Dense layers with ReLU."""
    return keras.Sequential([keras.layers.Dense(width, activation="relu") for width in widths], name=name)
