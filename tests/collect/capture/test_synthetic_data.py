"""Data for a model without any."""

from types import SimpleNamespace
from typing import Any

import pytest

from estimator.collect.capture import synthetic_data, tensorflow_import
from estimator.core.errors import EstimatorError


@pytest.mark.parametrize(("sizes", "side"), [([(None, 3)], "outputs"), ([(None, None)], "inputs"), ([], "inputs")])
def test_open_shapes_get_no_synthetic_data(sizes: list[Any], side: str) -> None:
    inputs = [SimpleNamespace(shape=shape, dtype="float32") for shape in sizes]
    model = SimpleNamespace(name="open", layers=[], inputs=inputs, outputs=[])
    with pytest.raises(EstimatorError, match=f"the shapes of its {side} are open; define data"):
        synthetic_data.synthetic_batch(model, 4)


def batch_of(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The inputs and targets of a batch of 64, without TensorFlow."""
    repeated = SimpleNamespace(from_tensors=lambda pair: SimpleNamespace(repeat=lambda count: pair))
    tensorflow = SimpleNamespace(data=SimpleNamespace(Dataset=repeated))
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: tensorflow)
    return synthetic_data.synthetic_batch(model, 64)


def tensor(*shape: int, dtype: str = "float32") -> Any:
    return SimpleNamespace(shape=(None, *shape), dtype=dtype)


def test_inputs_have_the_models_shapes_and_tokens_cover_the_smallest_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [SimpleNamespace(embeddings=0, input_dim=rows) for rows in (7, 5)]
    model = SimpleNamespace(
        name="two", layers=layers, inputs=[tensor(3), tensor(20, dtype="int32")], outputs=[tensor(1)], loss="mse"
    )
    (numbers, tokens), target = batch_of(model, monkeypatch)
    assert (numbers.shape, numbers.dtype) == ((64, 3), "float32")
    assert (tokens.shape, tokens.dtype) == ((64, 20), "int32")
    assert set(tokens.ravel()) == {0, 1, 2, 3, 4}
    assert target.shape == (64, 1)
    assert 0 <= target.min() < target.max() < 1


@pytest.mark.parametrize(
    "loss",
    [
        {"classes": "sparse_categorical_crossentropy", "numbers": "mse", "one_hot": "categorical_crossentropy"},
        [SimpleNamespace(name="sparse_categorical_crossentropy"), "mse", SimpleNamespace(name="categorical_focal")],
    ],
)
def test_targets_fit_the_loss_of_each_output(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(
        name="three", layers=[], inputs=[tensor(2)], outputs=[tensor(4), tensor(4), tensor(6, 4)], loss=loss,
        output_names=["classes", "numbers", "one_hot"],
    )  # fmt: skip
    classes, numbers, one_hot = batch_of(model, monkeypatch)[1]
    assert classes.shape == (64,)
    assert set(classes) == {0, 1, 2, 3}
    assert numbers.shape == (64, 4)
    assert len(set(numbers.ravel())) > 4
    assert one_hot.shape == (64, 6, 4)
    assert set(one_hot.ravel()) == {0, 1}
    assert (one_hot.sum(-1) == 1).all()
