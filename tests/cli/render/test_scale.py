"""What ``estimator scale`` prints."""

from functools import partial

import pytest

from estimator.cli.render.scale import render_scale
from tests.cli.command_line import printed, read, run

WORDS = ("scale", "vgg16", "--system", "summit", "--devices", "1", "--devices", "96", "--batch", "512")


@pytest.mark.slow
def test_people_read_what_programs_get() -> None:
    shown = run(*WORDS)
    assert printed(partial(render_scale, read(*WORDS))) == shown
    assert "vgg16 on summit (v100-sxm2-16gb), fp32, data, weak scaling, host: dispatch" in shown.stdout
    assert "49152" in shown.stdout  # samples of all devices
    assert " !" in shown.stdout  # 512 images do not fit
    assert "gradients are all-reduced in buckets" in shown.stderr


@pytest.mark.slow
def test_the_legend_says_what_timed_steps_make_of_the_parts() -> None:
    document = read(*WORDS)
    predicted, corrected = (
        " ".join(printed(partial(render_scale, document | {"timed_steps": count})).stdout.split()) for count in (0, 2)
    )
    assert "Exposed: what messages and the wait for the slowest device add to the step." in predicted
    assert "Messages: predicted time of all messages." in corrected
    assert "add to the step: of the corrected step the same share as of the predicted one." in corrected


@pytest.mark.slow
def test_in_a_narrow_terminal_intervals_stand_below_their_numbers() -> None:
    call = partial(render_scale, read(*WORDS))
    wide, narrow = (printed(call, columns=columns).stdout for columns in (160, 80))
    _, headings, step, interval, *_ = narrow.splitlines()
    assert max(map(len, narrow.splitlines())) <= 80
    assert "batch" in wide.splitlines()[1]
    assert "batch" not in headings
    time, unit = step[: headings.index("step time") + len("step time")].split()[-2:]
    low, high = interval.strip().split(" – ")
    assert f" {time} ({low} – {high}) {unit} " in wide


@pytest.mark.slow
def test_what_is_not_known_is_a_dash() -> None:
    document = read(*WORDS)
    unknown = {"samples_per_s": None, "global_batch": None, "memory_bytes": None, "fits": None, "power_w": None}
    row = document["rows"][0] | unknown | {"energy_j_per_step": None}
    shown = printed(partial(render_scale, document | {"rows": [row]}))
    assert shown.stdout.count("–") >= 5
