"""What ``estimator memory`` prints."""

from functools import partial

import pytest

from estimator.cli.render.memory import render_memory
from tests.cli.command_line import printed, read, run


@pytest.mark.slow
def test_people_read_what_programs_get() -> None:
    words = ("memory", "nt3", "--on", "k20x", "--batch", "200")
    shown = run(*words)
    assert printed(partial(render_memory, read(*words))) == shown
    assert (
        "does not fit: k20x has 5.588 GiB; by the middle of the interval the largest batch that fits is" in shown.stdout
    )
    assert max(map(len, shown.stdout.splitlines())) <= 120


def test_without_a_device_no_reserve_is_shown() -> None:
    shown = run("memory", "p1b2", "--mode", "inference")
    assert "reserve " not in shown.stdout
    assert "no device is named" in shown.stderr


def test_inference_keeps_nothing_for_a_backward_pass() -> None:
    inference, training = (run("memory", "p1b2", "--mode", mode).stdout for mode in ("inference", "training"))
    assert "for the backward pass" in training
    assert "backward" not in inference
    assert "a copy for products" not in inference


def test_parts_of_no_bytes_are_left_out_of_the_table_and_stay_in_the_document() -> None:
    words = ("memory", "p1b2", "--mode", "inference")
    assert {name for name in ("gradients", "optimizer") if read(*words)[name] == 0} == {"gradients", "optimizer"}
    shown = run(*words).stdout
    assert "gradients" not in shown
    assert " 0 B " not in shown
