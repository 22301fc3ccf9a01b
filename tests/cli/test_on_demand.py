import subprocess
import sys

import pytest
import typer

from estimator.cli import app
from estimator.cli.on_demand import MODULES, Commands

GROUP = typer.main.get_command(app)


def test_the_group_knows_every_command_by_its_name() -> None:
    commands = GROUP.commands  # type: ignore[attr-defined]
    assert list(commands) == list(MODULES)
    assert len(commands) == len(MODULES)
    assert commands.get("measure") is commands["measure"]
    assert commands.get("measures") is None


@pytest.mark.parametrize("name", MODULES)
def test_a_command_has_its_help_and_an_example(name: str) -> None:
    command = Commands()[name]
    assert command.help
    assert f"Example: estimator {name}" in (command.epilog or "")


def test_a_command_loads_no_other() -> None:
    code = (
        "import sys; sys.argv = ['estimator', 'devices', '--columns', 'help']\n"
        "from estimator.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith('estimator.cli.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.split() == ["estimator.cli.commands.catalogue"]
