"""The report in a real browser: no network request, no console message, no sideways scrolling."""

from collections.abc import Callable
from pathlib import Path

import pytest

from estimator.reports.html import write_report
from estimator.studies.run import run_study

playwright = pytest.importorskip("playwright", reason="playwright is not installed")
from tests.browser import render  # noqa: E402
from tests.conftest import LARGE_STUDIES, STUDIES  # noqa: E402

pytestmark = pytest.mark.browser
HOSTILE = """
title: "<script>console.log(1)</script><img src='http://example.invalid/x.png'>"
baseline: titan
machines:
  titan: {system: titan}
  "<img src=x onerror=alert(1)>": {device: v100, nodes: 3}
units_of_work:
  "</td><iframe src='http://example.invalid'>": {profile: p1b3}
draws: 20
"""


@pytest.fixture(autouse=True)
def browser() -> None:
    if render.CHROMIUM is None:
        pytest.skip("no Chromium is found")


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_shipped_reports(name: str, tmp_path: Path, shipped_report: Callable[[str], Path]) -> None:
    report = shipped_report(name) / "report.html"
    assert render.render(report, tmp_path, full_page=name not in LARGE_STUDIES) == []
    assert {path.name for path in tmp_path.glob("*.png")} == {"report-1280.png", "report-400.png"}


@pytest.mark.slow
def test_hostile_names(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(HOSTILE)
    report, _ = write_report(run_study(tmp_path / "study.yaml"), tmp_path)
    assert render.render(report, tmp_path) == []


@pytest.mark.slow
def test_the_renderer_does_complain(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<img src='http://example.invalid/x.png'><p style='width: 3000px'>wide</p>")
    complaints = render.render(page, tmp_path)
    assert any(c.startswith("request: http://example.invalid") for c in complaints)
    assert any(c.startswith("layout:") for c in complaints)


MANY_DEVICES = """
title: Many devices
baseline: old
machines:
  old: {system: selene, usd_per_device_hour: 1.2 USD}
  new-machine-of-long-name: {system: eos, usd_per_device_hour: 3.5 USD}
units_of_work:
  gpt2 from scratch: {profile: gpt2, samples: 16000, epochs: 1, devices: 2000, batch_size: 8, parallel: zero3}
  P1B2: {profile: p1b2, samples: 3000, epochs: 2, trainings_per_device: 2}
draws: 20
"""


@pytest.mark.slow
def test_tables_of_the_roll_up_need_no_scrolling_on_a_laptop(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(MANY_DEVICES)
    report, _ = write_report(run_study(tmp_path / "study.yaml"), tmp_path)
    for section in ("units", "steps", "derivations"):
        assert render.wide_tables(report, section, 1200) == []
