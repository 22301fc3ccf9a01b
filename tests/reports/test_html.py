import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from estimator.core import library
from estimator.reports.html import anchor, show_samples, write_report
from estimator.studies.run import run_study
from tests.conftest import STUDIES
from tests.studies.toy_merit import study_file

HOSTILE = """<script>alert(1)</script> & "quotes" 'single' {{ 7*7 }} $\\frac{1 </title> 名前"""


class Page(HTMLParser):
    """Tags, links and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]


def texts(folder: Path) -> tuple[str, str]:
    return (folder / "report.html").read_text("utf-8"), (folder / "results.json").read_text("utf-8")


def report(study: Path, folder: Path) -> tuple[str, str]:
    write_report(run_study(study), folder)
    return texts(folder)


def test_an_interval_that_reads_as_its_middle_is_one_number() -> None:
    assert str(show_samples(np.array([12.0, 11.999999999999996, 12.000000000000004]), "1")) == "12"
    assert str(show_samples(np.array([12.0, 11.0, 13.0]), "1")) == '12.00 <span class="ends">11.10 – 12.90</span>'


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_report_is_one_offline_file_without_broken_links(name: str, shipped_report: Callable[[str], Path]) -> None:
    html, results = texts(shipped_report(name))
    page = Page(html)
    assert "script" not in page.tags
    assert all(link.startswith("#") or link == "data:," for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert not re.search(r"@import|url\((?!#)", html)
    document = json.loads(results)
    ids = {number["id"] for number in document["numbers"]}
    for number in document["numbers"]:
        assert number["formula"]
        assert set(number["inputs"]) <= ids
        assert number["inputs"] or number["source"]
        assert anchor(number["id"]) in page.ids


@pytest.mark.slow
def test_reports_are_reproducible(tmp_path: Path, shipped_report: Callable[[str], Path]) -> None:
    """Where the study runs twice."""
    study = library.names("reports", "*")["candle-fom"] / "study.yaml"
    assert report(study, tmp_path) == texts(shipped_report("candle-fom"))


@pytest.mark.slow
def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    name = json.dumps(HOSTILE)
    (tmp_path / "study.yaml").write_text(
        f"title: {name}\ndescription: {name}\nbaseline: titan\ndraws: 20\nmachines:\n  titan: {{system: titan}}\n"
        f"  {name}: {{device: v100, nodes: 3, node_name: {name}}}\nunits_of_work:\n  {name}: {{profile: p1b3}}\n"
        f"notes: [{name}]\n",
        encoding="utf-8",
    )
    html, _ = report(tmp_path / "study.yaml", tmp_path)
    page = Page(html)
    assert "script" not in page.tags
    assert page.tags.count("title") == 1
    assert "<script>alert" not in html
    assert "{{ 7*7 }}" in html
    assert len(set(page.ids)) == len(page.ids)


@pytest.mark.slow
def test_names_with_a_slash_keep_their_links(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "title: t\nbaseline: titan\ndraws: 20\nmachines:\n  titan: {system: titan}\n  a: {device: v100, nodes: 1}\n"
        "  a/b: {device: k20x, nodes: 1}\nunits_of_work:\n  u: {profile: p1b3}\n  b/u: {profile: p1b3}\n"
    )
    html, results = report(tmp_path / "study.yaml", tmp_path)
    page = Page(html)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(json.loads(results)["estimates"]) == 6


def test_a_faulty_study_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file"):
        report(tmp_path / "none.yaml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_report_shows_the_slides_figure_and_ours(shipped_report: Callable[[str], Path]) -> None:
    html, _ = texts(shipped_report("lecture-example"))
    assert "82.5973" in html
    assert "82.599" in html
    assert "7475" in html


def test_the_report_names_the_published_definition_with_its_source_and_what_stands_apart(tmp_path: Path) -> None:
    terms = "algorithmic_factor: {new: {value: 5, source: a paper}}, group: g, committed: {new: 12 h}"
    unit = f"  A: {{time_per_unit: {{old: 8 h, new: 10 h}}, {terms}}}"
    html, _ = report(study_file(tmp_path, unit, "{preset: ssi}"), tmp_path)
    assert "<strong>ssi</strong>, Scalable System Improvement" in html
    assert "nersc.gov/research-and-development/apex/apex-benchmarks/ssi (read:" in html
    assert "ssi asks for at least 1" in html
    assert f'href="#{anchor("new/fom_with_algorithm")}">12<' in html
    assert "g: 2.4." in html
    assert '<th class="r">committed time</th><th class="r">projected / committed rate</th>' in html
    assert f'href="#{anchor("new/A/projected_over_committed")}">1.2<' in html
    assert '<th class="r">capability factor</th>' not in html, "none is declared"


def test_the_report_shows_the_machines_own_means_and_every_preset(shipped_report: Callable[[str], Path]) -> None:
    html, _ = texts(shipped_report("lecture-example"))
    assert "titan 17,250.5; machine-a 1,424,842." in html
    assert "preset candle (this report)" in html
    assert "preset coral-2" in html


def test_the_report_shows_unverified_inputs_and_the_matrix_only_step(shipped_report: Callable[[str], Path]) -> None:
    html, results = texts(shipped_report("candle-fom"))
    assert "memory_bandwidth = 1.9 TB/s is assumed" in html
    assert "matrix products alone" in html
    estimate = json.loads(results)["estimates"]["machine-a/P1B3"]
    assert estimate["matrix_only_step_s"]["mid"] < estimate["step_s"]["mid"]
    assert estimate["step_s"]["low"] < estimate["step_s"]["mid"] < estimate["step_s"]["high"]


def test_the_main_template_does_not_depend_on_kinds_of_appendix() -> None:
    templates = files("estimator.reports") / "templates"
    kinds = {path.name.removesuffix(".html") for path in templates.iterdir() if path.name.endswith(".html")} - {
        "report"
    }
    assert kinds == {"audit"}
    main = (templates / "report.html").read_text("utf-8")
    assert not [kind for kind in kinds if kind in main]


def test_the_report_of_an_audit(tmp_path: Path) -> None:
    ops = "op_type,op_class,precision,m,n,k,calls,time_s\nMatMul,gemm,fp32,512,512,512,1,0.5\n"
    (tmp_path / "dump.csv").write_text(ops)
    (tmp_path / "workload.yaml").write_text("name: w\nbatch_size: 8\nsamples: 80\n")
    name = json.dumps(HOSTILE)
    (tmp_path / "study.yaml").write_text(
        f"title: t\ndraws: 20\ntables:\n  {name}:\n    title: {name}\n    source: {name}\n    baseline: old\n"
        f"    columns: {{old: {{devices: k20x, peak: 1x}}, {name}: {{}}}}\n    rows:\n      {name}:\n"
        f"        profile: dump.csv\n        times: {{old: 90 s, {name}: 9 s}}\n        ratios: {{{name}: 9x}}\n"
        f"        stated: [{{of: old, mark: data-bound, reason: {name}}}]\n",
        encoding="utf-8",
    )
    html, results = report(tmp_path / "study.yaml", tmp_path)
    page = Page(html)
    assert "script" not in page.tags
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert "Audit of published figures" in html
    assert 'class="mark data-bound"' in html
    assert "Units of work" not in html
    assert json.loads(results)["audits"][0]["printed"]["times"][0]["mark"] == "data-bound"


def with_hosts(folder: Path, titan: str, summit: str) -> str:
    machines = f"  titan: {{system: titan, host: {titan}}}\n  summit: {{system: summit, host: {summit}}}\n"
    text = f"title: t\nbaseline: titan\ndraws: 20\nmachines:\n{machines}"
    (folder / "study.yaml").write_text(text + "units_of_work:\n  P: {profile: p1b3}\n  Q: {profile: p1b3, epochs: 2}\n")
    return report(folder / "study.yaml", folder)[0]


@pytest.mark.slow
def test_the_hosts_scenario_is_noted_once_where_it_is_one(tmp_path: Path) -> None:
    assert "The host: none (every machine and unit)." in with_hosts(tmp_path, "none", "none")


@pytest.mark.slow
def test_of_several_hosts_scenarios_a_machine_of_one_is_named_whole(tmp_path: Path) -> None:
    assert "The host: none (titan); dispatch × 0.5 (summit)." in with_hosts(tmp_path, "none", "0.5")
