"""``estimator predict``: the rows of a table with their times, as a document and as CSV."""

from pathlib import Path

import pytest

from tests.cli.command_line import read, run


@pytest.fixture
def shapes(tmp_path: Path) -> str:
    path = tmp_path / "shapes.csv"
    path.write_text("op_class,precision,batch,m,n,k\ngemm,fp32,1,1760,128,1760\ngemm,fp32,1,100,50,1\n")
    return str(path)


def test_the_document_and_the_csv(shapes: str, tmp_path: Path) -> None:
    document = read("predict", shapes, "--on", "v100", "--csv", str(tmp_path / "times.csv"))
    assert document["target"] == "v100-sxm2-16gb"
    assert [row["method"] for row in document["rows"]] == ["measured", "roofline"]
    assert document["rows"][0]["time_s"] == pytest.approx(88e-6)
    header, *rows = (tmp_path / "times.csv").read_text().splitlines()
    assert header.endswith("time_s,low_s,high_s,bound,method")
    assert len(rows) == 2


def test_the_table_of_shapes_is_not_overwritten(shapes: str) -> None:
    before = Path(shapes).read_text()
    assert "this is the input itself" in run("predict", shapes, "--on", "v100", "--csv", shapes, code=1).stderr
    assert Path(shapes).read_text() == before
