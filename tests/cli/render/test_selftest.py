"""What ``estimator selftest`` prints, of a run that is kept."""

import json
from importlib.resources import files

from estimator.cli.render.selftest import render_selftest
from tests.cli.command_line import printed


def test_each_prediction_stands_beside_its_truth() -> None:
    kept = next(
        path for path in files("estimator.validation.selftest.results").iterdir() if path.name.endswith(".json")
    )
    document = json.loads(kept.read_text())
    shown = printed(lambda: render_selftest(document), columns=160).stdout
    lines, row = [" ".join(line.split()) for line in shown.splitlines()], document["rows"][0]
    first = next(line for line in lines if line.startswith(f"{row['workload']} {row['source']} {row['target']} "))
    assert first.endswith(f"{100 * row['error']:+.1f} % {100 * row['noise']:+.1f} %")
    assert f"All together: {'reached' if document['summary']['reached'] else 'missed'}" in lines
    median = 100 * document["summary"]["median_error"]
    assert any(line.startswith(f"median error {median:.1f} %; to be at most") for line in lines)
