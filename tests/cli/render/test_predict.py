"""What ``estimator predict`` prints."""

from functools import partial
from pathlib import Path

import pytest

from estimator.cli.render.predict import render_predict
from tests.cli.command_line import printed, read, run

SHAPES = """\
op_class,precision,conv_n,conv_c,conv_h,conv_w,conv_k,conv_r,conv_s,bytes
convolution,fp32,8,64,56,56,64,3,3,
convolution,fp32,8,64,28,28,64,3,3,
elementwise,fp32,,,,,,,,1000000000
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shapes.csv").write_text(SHAPES)
    return tmp_path


def test_people_read_what_programs_get(folder: Path) -> None:
    words = ("predict", "shapes.csv", "--on", "v100")
    assert printed(partial(render_predict, read(*words, cwd=folder))) == run(*words, cwd=folder)


def test_shapes_differ_and_no_word_is_split(folder: Path) -> None:
    shown = run("predict", "shapes.csv", "--on", "H100", cwd=folder, columns=80).stdout
    assert "One call on h100-sxm5-80gb" in shown
    for word in ("h 56", "h 28", "1.000 GB", "convolution", "elementwise"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_shape_without_a_time_is_a_dash() -> None:
    row = {"op_class": "other", "precision": "fp32", "time_s": None, "low_s": None, "high_s": None, "bound": None}
    document = {"target": "toy", "rows": [{**row, "method": None}], "assumptions": ["a guess"]}
    output = printed(partial(render_predict, document))
    assert output.stdout.splitlines()[-1].split() == ["other", "fp32", "–", "nothing", "known"]
    assert output.stderr == "note: a guess\n"
