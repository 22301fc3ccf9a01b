"""Results as HTML."""

from estimator.api.html import to_html
from estimator.reports.summaries import TextTable
from tests.reports.test_html import HOSTILE, Page


def test_every_text_is_escaped() -> None:
    table = TextTable(HOSTILE, (HOSTILE,), [[HOSTILE]])
    html = to_html(HOSTILE, HOSTILE, [table], {HOSTILE: [HOSTILE]})
    assert "script" not in Page(html).tags
    assert html.count("&lt;script&gt;") == 7


def test_notes_are_folded_away_and_counted() -> None:
    html = to_html("t", "", [], {"warnings": ["a", "b"], "assumptions": []})
    assert "<summary>2 warnings</summary><ul><li>a</li><li>b</li></ul>" in html
    assert "assumptions" not in html


def test_numbers_align_right_and_short_texts_stay_in_one_line() -> None:
    html = to_html("t", "", [TextTable("", ("name", "time"), [["x" * 50, "1 s"]], right=("time",))], {})
    assert '<td style="text-align: left; padding: 0.1em 0.5em">xxx' in html
    assert '<td style="text-align: right; padding: 0.1em 0.5em; white-space: nowrap">1 s</td>' in html
