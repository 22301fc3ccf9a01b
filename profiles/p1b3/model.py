"""CANDLE P1B3, drug response of cell lines, on synthetic data of the same shape.

The network is the CANDLE baseline's; ``estimator capture profiles/p1b3/model.py -o DIR`` profiles it anywhere.
"""

import keras
import numpy as np
import tensorflow as tf

FEATURES = 29532
LAYERS = (1000, 500, 100, 50)
DROPOUT = 0.1
BATCH_SIZE = 100
SAMPLES = 900136  # nine tenths of about 1,000,151 rows; the validation split is 0.1
EPOCHS = 1


def build() -> keras.Model:
    """Dense layers 29532-1000-500-100-50-1, ReLU, dropout after each hidden layer, mean squared error, SGD."""
    model = keras.Sequential([keras.Input((FEATURES,))], name="p1b3")
    for width in LAYERS:
        model.add(keras.layers.Dense(width, activation="relu"))
        model.add(keras.layers.Dropout(DROPOUT))
    model.add(keras.layers.Dense(1))
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)  # XLA would rename and fuse what the lecture lists
    return model


def data() -> tf.data.Dataset:
    """One batch of noise again and again: what a step costs does not depend on the values."""
    noise = np.random.default_rng(0)
    batch = noise.random((BATCH_SIZE, FEATURES), np.float32), noise.random((BATCH_SIZE, 1), np.float32)
    return tf.data.Dataset.from_tensors(batch).repeat(10)
