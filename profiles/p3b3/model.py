"""CANDLE P3B3, several properties of tumours from pathology reports by one convolutional network."""

import keras

from estimator.collect.capture import scaled

WORDS, CLASSES = 4654, (6, 6, 6, 6)
OF_WORDS, OF_KERNELS = keras.regularizers.L2(0.001), keras.regularizers.L2(0.01)


def build(scale: float = 1.0) -> keras.Model:
    """Embedding 300 of 1,500 words, convolutions of 3, 4 and 5 words with 100 filters each, their maxima, and heads."""
    (length,) = scaled(scale, 1500)
    text = keras.Input((length,), dtype="int32")
    words = keras.layers.Embedding(WORDS, 300, embeddings_regularizer=OF_WORDS)(text)
    found = [
        keras.layers.Conv1D(100, kernel, padding="same", activation="relu", kernel_regularizer=OF_KERNELS)(words)
        for kernel in (3, 4, 5)
    ]
    joined = keras.layers.Concatenate()([keras.layers.GlobalMaxPooling1D()(maps) for maps in found])
    joined = keras.layers.Dropout(0.5)(joined)
    heads = [keras.layers.Dense(classes, activation="softmax")(joined) for classes in CLASSES]
    model = keras.Model(text, heads, name="p3b3")
    model.compile(optimizer="adam", loss=["sparse_categorical_crossentropy"] * len(heads), jit_compile=False)
    return model
