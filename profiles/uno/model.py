"""CANDLE Uno, response of cell lines to pairs of drugs, from many studies."""

import keras

from estimator.collect.capture import scaled

FEATURES = {"rnaseq": 949, "descriptors": 5270, "fingerprints": 2048}
ENCODED = ("rnaseq", "descriptors", "fingerprints", "descriptors", "fingerprints")  # of the cell and of two drugs
JOINED = (1, 1, 11)  # two doses and the study of the response, one-hot, with one class for none


def build(scale: float = 1.0) -> keras.Model:
    """An encoder 1000-1000-1000 for each kind of feature, which both drugs share; joined 5013-1000-1000-1000-1."""
    widths = scaled(scale, 1000, 1000, 1000)
    sizes = dict(zip(FEATURES, scaled(scale, *FEATURES.values()), strict=True))
    encoders = {kind: tower(kind, widths) for kind in FEATURES}
    features = [keras.Input((sizes[kind],)) for kind in ENCODED]
    others = [keras.Input((size,)) for size in JOINED]
    encoded = [encoders[kind](feature) for kind, feature in zip(ENCODED, features, strict=True)]
    joined = keras.layers.Concatenate()([*encoded, *others])
    response = keras.layers.Dense(1)(tower("response", widths)(joined))
    model = keras.Model([*features, *others], response, name="uno")
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    return model


def tower(name: str, widths: list[int]) -> keras.Model:
    """Dense layers with ReLU."""
    return keras.Sequential([keras.layers.Dense(width, activation="relu") for width in widths], name=name)
