"""The public names: one list, typed, loaded when they are used, and with the command line's own words."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import estimator
from tests import user_program

ROOT = Path(__file__).resolve().parent.parent
STUDY = ROOT / "reports" / "lecture-example" / "study.yaml"
NOT_IN_PYTHON = {"as_json", "plot"}  # results have document() and plot()
ONLY_IN_PYTHON = {"draws"}
RENAMED = {"reads": "input", "to": "device"}


def test_the_verbs_work_together(tmp_path: Path) -> None:
    profile = estimator.read_profile("p1b3")
    step = estimator.estimate(profile, estimator.RunPlan(target="v100", draws=5)).step
    assert 0 < step.total[0] < 0.1
    written = estimator.write_report(estimator.figure_of_merit(STUDY), tmp_path)
    assert [path.name for path in written] == ["report.html", "results.json"]
    assert estimator.load_system("titan").device == estimator.load_device("k20x").name


def test_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = estimator.guess


def test_the_list_the_types_and_the_places_are_the_same() -> None:
    tree = ast.parse(Path(estimator.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    places = {str(node.module): tuple(name.name for name in node.names) for node in imports}
    assert places == estimator._NAMES
    assert sorted(name for names in places.values() for name in names) == [
        name for name in estimator.__all__ if name != "__version__"
    ]
    assert dir(estimator) == estimator.__all__
    assert (Path(estimator.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("name", [name for name in estimator.__all__ if name != "__version__"])
def test_every_name_is_documented(name: str) -> None:
    actual = getattr(estimator, name)
    assert inspect.getdoc(actual)
    members = inspect.getmembers(actual) if name.endswith("Result") else []
    for member, value in members:
        if not member.startswith("_") and (isinstance(value, property) or inspect.isfunction(value)):
            assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize("verb", ["estimate", "compare", "scale", "figure_of_merit", "write_report"])
def test_verbs_say_arguments_errors_and_an_example(verb: str) -> None:
    actual = getattr(estimator, verb)
    text = inspect.getdoc(actual) or ""
    assert all(f"{part}:\n" in text for part in ("Args", "Raises", "Example"))
    assert all(f"    {name}: " in text for name in inspect.signature(actual).parameters)


@pytest.mark.parametrize("verb", ["estimate", "compare", "scale"])
def test_keywords_are_the_options_of_the_command(verb: str) -> None:
    from importlib import import_module

    command = getattr(import_module(f"estimator.cli.commands.{verb}"), verb)
    options = {RENAMED.get(name, name) for name in inspect.signature(command).parameters} - NOT_IN_PYTHON
    options = options - {"device"} | {"devices"} if verb == "compare" else options
    assert set(inspect.signature(getattr(estimator, verb)).parameters) - ONLY_IN_PYTHON == options


def test_importing_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import estimator; dir(estimator)\n"
        "heavy = [name for name in sys.modules if name.startswith(('pandas', 'numpy', 'matplotlib', 'pydantic'))]\n"
        "own = [name for name in set(sys.modules) - before if name.startswith('estimator.')]\n"
        "sys.exit(' '.join(heavy + own) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_estimates_draw_nothing_until_they_are_asked_to() -> None:
    code = (
        "import sys, estimator\n"
        "result = estimator.estimate('p1b3', 'v100', draws=20); repr(result), result.ops, result._repr_html_()\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_typed_program_runs(tmp_path: Path) -> None:
    """The linters read it as strictly as the package."""
    user_program.run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"parts.png", "report.html", "results.json"}


@pytest.mark.slow
def test_a_typed_program_is_right_for_mypy_from_outside(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(Path(user_program.__file__).read_text())
    words = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={"MYPYPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
