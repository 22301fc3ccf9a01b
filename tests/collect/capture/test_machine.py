"""The machine of the profiled steps, as TensorFlow and the environment describe it."""

from types import SimpleNamespace

import pytest

from estimator.collect.capture import machine, tensorflow_import


def set_tensorflow(monkeypatch: pytest.MonkeyPatch, gpus: list[str], threads: int = 0) -> None:
    """A TensorFlow that sees these GPUs and has this setting of threads; 0: none."""
    config = SimpleNamespace(
        list_physical_devices=lambda kind: gpus,
        experimental=SimpleNamespace(get_device_details=lambda gpu: {"device_name": gpu} if gpu else {}),
        threading=SimpleNamespace(get_intra_op_parallelism_threads=lambda: threads),
    )
    monkeypatch.setattr(tensorflow_import, "import_tensorflow", lambda: SimpleNamespace(config=config))


def test_the_device_is_the_first_accelerator_else_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "processor", lambda: "a processor")
    set_tensorflow(monkeypatch, ["Tesla V100", ""])
    assert machine.accelerators() == ["Tesla V100", "GPU"]
    assert machine.device() == "Tesla V100"
    set_tensorflow(monkeypatch, [])
    assert machine.device() == "a processor"


@pytest.mark.parametrize(
    ("setting", "variable", "threads"), [(3, "5", 3), (0, "5", 5), (0, "", 4), (0, "many", 4), (0, "-2", 4)]
)
def test_threads_are_as_set_then_as_the_environment_says_then_the_usable_processors(
    setting: int, variable: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "usable_processors", lambda: [0, 1, 6, 7])
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", variable)
    set_tensorflow(monkeypatch, [], setting)
    assert machine.threads() == threads
