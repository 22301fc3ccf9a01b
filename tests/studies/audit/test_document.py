from typing import get_args

import pytest

from estimator.reports import documents, study_documents
from estimator.studies.audit.document import appendix, audit_document, checked_document
from estimator.studies.audit.printed import read_printed
from estimator.studies.audit.types import CheckedNumber, ImpliedStep, Kind, Mark
from tests.studies.audit.tables import AUDIT


def test_a_checked_number_has_the_keys_of_any_published_figure() -> None:
    number = CheckedNumber(
        "time per epoch", "A", "new", read_printed("[8 s]", "s"), None, "cannot be told", "why",
        implied_step=ImpliedStep(0.5, 3e9, 0.1), busy=0.9,
    )  # fmt: skip
    document = checked_document(number, "S")
    assert tuple(document) == study_documents.PUBLISHED_KEYS
    assert {name: value for name, value in document.items() if value is not None} == {
        "quantity": "time per epoch", "unit": "A", "on": "new", "printed": 8, "source": "S", "reason": "why",
        "as_printed": "[8 s]", "mark": "cannot be told", "implied_step_s": 0.5, "achieved_flop_per_s": 3e9,
        "utilisation": 0.1, "busy": 0.9,
    }  # fmt: skip


def test_the_document_counts_the_marks_of_each_kind() -> None:
    document = audit_document(AUDIT)
    assert document["counts"].keys() == document["marks"].keys() == set(get_args(Mark))
    assert tuple(document["printed"]) == get_args(Kind)
    assert document["counts"]["reproduced"] == {
        "peaks": 0, "counts": 1, "means": 2, "ratios": 1, "like rows": 1, "times": 1,
    }  # fmt: skip
    assert document["printed"]["times"][0]["ours"]["value"]["mid"] == 2
    assert documents.to_json(document)


def test_an_appendix_holds_all_numbers_and_the_findings() -> None:
    part = appendix(AUDIT)
    assert (part.kind, part.title, len(part.numbers)) == ("audit", "T", 9)
    assert [(finding["quantity"], finding["mark"]) for finding in part.view["findings"]] == [
        ("parameters", "wrong part"), ("step of A and B", "reproduced"),
    ]  # fmt: skip


def test_the_printed_table_is_laid_out_line_by_line() -> None:
    view = appendix(AUDIT).view
    quantities = {
        row: [[number["quantity"] for number in cell] for cell in line["cells"]] for row, line in view["rows"].items()
    }
    assert quantities == {"A": [[], ["time", "ratio"]], "B": [["time"], []]}
    assert view["counts"] == ["batch size", "parameters"]
    assert [len(cell) for cell in view["rows"]["A"]["counts"]] == [1, 1]
    assert [len(cell) for cell in view["rows"]["B"]["counts"]] == [0, 0]
    assert {column: len(peaks) for column, peaks in view["columns"].items()} == {"old": 0, "new": 1}
    assert list(view["means"]) == ["mean 1 of the ratios", "mean 2 of the ratios"]
    assert [len(cell) for cell in view["means"]["mean 2 of the ratios"]] == [0, 1]


@pytest.mark.parametrize("kind", get_args(Kind))
def test_cell_selects_by_row_and_column(kind: Kind) -> None:
    for number in AUDIT.checked[kind]:
        assert number in AUDIT.cell(kind, number.row, number.column)
        assert not AUDIT.cell(kind, "C", number.column)
