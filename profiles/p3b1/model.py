"""CANDLE P3B1, three properties of tumours from pathology reports."""

import keras

from estimator.collect.capture import scaled

CLASSES = (13, 2, 4)


def build(scale: float = 1.0, shared: tuple[int, ...] = ()) -> keras.Model:
    """Three networks 400-2400-2400-1200-1200-classes side by side, each with its input, or all behind shared layers."""
    features, *widths = scaled(scale, 400, 2400, 2400, 1200, 1200)
    inputs = [keras.Input((features,)) for _ in (CLASSES[:1] if shared else CLASSES)]
    reports = [tower(scaled(scale, *shared))(inputs[0])] * len(CLASSES) if shared else inputs
    outputs = [
        keras.layers.Dense(classes, activation="softmax")(tower(widths)(report))
        for classes, report in zip(CLASSES, reports, strict=True)
    ]
    model = keras.Model(inputs, outputs, name="p3b1")
    model.compile(optimizer="sgd", loss=["categorical_crossentropy"] * len(CLASSES), jit_compile=False)
    return model


def tower(widths: list[int]) -> keras.Model:
    """Dense layers with ReLU."""
    return keras.Sequential([keras.layers.Dense(width, activation="relu") for width in widths])
