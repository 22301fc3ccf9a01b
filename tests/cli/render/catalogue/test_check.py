"""A check prints each fault with its line and its rule, and counts what it read."""

import json
from pathlib import Path

from estimator.cli.documents import catalogue_check
from estimator.cli.render.catalogue.check import render_check
from estimator.core.errors import Fault
from tests.cli.command_line import printed, run
from tests.cli.render.catalogue.conftest import TOY


def test_a_fault_stands_on_stderr_with_its_rule() -> None:
    document = catalogue_check(2, [Fault("x.yaml:3: it is wrong", "wrong-unit"), "it is odd"])
    output = printed(lambda: render_check(document, "devices"))
    assert output.stderr == "x.yaml:3: it is wrong [wrong-unit]\nit is odd\n"
    assert output.stdout == "2 devices checked, 2 faults\n"


def test_one_is_no_plural() -> None:
    assert printed(lambda: render_check(catalogue_check(1, ["x"]), "systems")).stdout == "1 system checked, 1 fault\n"
    assert printed(lambda: render_check(catalogue_check(1, []), "devices")).stdout == "1 device checked, 0 faults\n"


def test_the_command_exits_with_1_and_prints_its_document_all_the_same(toy: Path) -> None:
    (toy / "bad.yaml").write_text(TOY.replace("toy", "bad").replace("500 GB/s", "500 GB"))
    words = ("devices", "bad.yaml", "toy.yaml", "--check")
    line, *_ = run(*words, code=1).stderr.splitlines()
    assert line.startswith("bad.yaml:3: memory_bandwidth is '500 GB'")
    assert line.endswith("[wrong-unit]")
    document = json.loads(run(*words, "--json", code=1).stdout)
    finding = document["findings"][0]
    assert document["checked"] == 2
    assert {"file": "bad.yaml", "line": 3, "rule": "wrong-unit"}.items() <= finding.items()
    assert document["faults"][0] == f"bad.yaml:3: {finding['sentence']}"
