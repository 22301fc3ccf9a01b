"""The user's file: its names, its place, and its faults with file and line."""

import sys
from pathlib import Path

import pytest

from estimator.collect.capture import script
from estimator.core import library
from estimator.core.errors import EstimatorError
from tests.collect.capture.user_files import fault, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = a / 0\n", "user.py:2: this line raised ZeroDivisionError: division by zero; mend it"),
        ("a = 1\n\nb = (\n", "user.py:3: this line raised SyntaxError"),
        ("import not_a_module_of_anyone\n", "user.py:1: this line raised ModuleNotFoundError"),
        ("raise SystemExit\n", "user.py:1: this line raised SystemExit; mend it"),
        ("raise KeyError\n", "user.py:1: this line raised KeyError; mend it"),
    ],
)
def test_a_fault_of_the_users_file_is_one_sentence_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in fault(written(tmp_path, text))


def test_a_fault_in_a_function_of_the_file_names_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, "def data():\n    return open('no such file')\n")
    assert f"{path}:2: this line raised FileNotFoundError" in fault(path, lambda own: own.value_of("data"))


def test_an_error_of_autograph_is_reported_by_its_cause(tmp_path: Path) -> None:
    path = written(tmp_path, "def step(batch):\n    pass\n")

    def use(own: script.Script) -> None:
        code = compile(f"raise ValueError({_autograph(path)!r})", "generated.py", "exec")
        exec(code)

    assert f"{path}:2: this line raised ValueError: shapes do not fit; mend it" in fault(path, use)


def _autograph(path: Path) -> str:
    return (
        f'in user code:\n\n    File "{path}", line 2, in step  *\n        pass\n\n    ValueError: shapes do not fit.\n'
    )


@pytest.mark.parametrize("value", ["0", "True", "'32'", "2.5"])
def test_an_invalid_count_is_refused(tmp_path: Path, value: str) -> None:
    assert "write a whole number above zero" in fault(
        written(tmp_path, f"BATCH_SIZE = {value}\n"), lambda own: own.count("BATCH_SIZE")
    )


def test_a_workload_is_found_by_name_folder_and_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("")
    assert script.locate(str(tmp_path)) == script.locate(str(tmp_path / "model.py")) == tmp_path / "model.py"
    assert script.locate("nt3") == library.names("profiles", "*")["nt3"] / "model.py"
    with pytest.raises(EstimatorError, match=r"Unknown workload 'nt4'\. Did you mean nt3"):
        script.locate("nt4")


def test_workload_yaml_completes_the_file(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text("name: own\nbatch_size: 8\nepochs: 3\n")
    with script.load_script(written(tmp_path, "EPOCHS = 2\n")) as own:
        assert (own.count("BATCH_SIZE"), own.count("EPOCHS"), own.count("SAMPLES")) == (8, 2, None)


def test_a_file_next_to_it_can_be_imported_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "helper_of_the_user.py").write_text("WIDTH = 3\n")
    path = written(tmp_path, "import helper_of_the_user\nWIDTH = helper_of_the_user.WIDTH\n")
    before = list(sys.path)
    with script.load_script(path) as own:
        assert own.get("WIDTH") == 3
    assert sys.path == before
    assert script.NAME not in sys.modules
    assert "helper_of_the_user" not in sys.modules
