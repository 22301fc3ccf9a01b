"""The command that rolls a study up to figures of merit."""

from functools import partial

from estimator.cli.emit import emit
from estimator.cli.options import Json, StudyFile

EXAMPLES = "Example: estimator fom reports/lecture-example/study.yaml"


def fom(study: StudyFile, as_json: Json = False) -> None:
    """Figures of merit of the machines of a study."""
    from estimator.cli.render.fom import render_fom
    from estimator.reports import documents
    from estimator.studies.run import run_study

    result = run_study(study)
    emit(documents.figures_of_merit(result), partial(render_fom, title=result.title), as_json)
