"""What ``estimator capture`` prints, without running TensorFlow."""

from estimator.cli.render.capture import render_capture
from tests.cli.command_line import printed

DOCUMENT = {
    "folder": "runs/[mine]", "wall_step_s": {"low": 0.1, "mid": 0.11, "high": 0.12}, "repeats": 30, "warmup": 5,
    "profiled_step_s": 0.22, "steps": 3, "overhead": 1.0, "batch_size": 4, "warnings": ["a warning"],
}  # fmt: skip


def test_the_step_with_and_without_the_profiler() -> None:
    output = printed(lambda: render_capture(DOCUMENT))
    step, folder = output.stdout.splitlines()
    assert step.startswith("step 110.0 (100.0 – 120.0) ms over 30 steps after 5 warm-up, 220.0 ms in 3 profiled ones")
    assert step.endswith("(+100.0 %); batch 4")
    assert folder == "runs/[mine]: see estimator ingest"
    assert output.stderr == "warning: a warning\n"
