"""The shipped studies, each with its picture where one is kept."""

from __future__ import annotations

from pathlib import Path

from estimator.core import library
from estimator.studies.study import Study, read_study
from from_code.markdown import cell

PICTURES = Path(__file__).resolve().parent.parent / "gallery"


def markdown() -> str:
    """One section for each shipped study."""
    places = library.names("reports", "*")
    return "\n\n".join(_section(name, read_study(place / "study.yaml")) for name, place in places.items())


def _section(name: str, study: Study) -> str:
    shown = (PICTURES / f"{name}.png").exists()
    parts = (
        f"## {cell(study.title)}",
        cell(study.description or ""),
        f"```bash\nestimator report {name} -o {name}\n```",
        f"![The first screen of the report of {name}](gallery/{name}.png)" if shown else "",
    )
    return "\n\n".join(part for part in parts if part)
