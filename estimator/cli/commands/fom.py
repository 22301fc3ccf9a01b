"""The command that rolls a study up to figures of merit."""

from functools import partial

from estimator.cli.emit import emit
from estimator.cli.options import Json, StudyFile

EXAMPLES = "Example: estimator fom reports/lecture-example/study.yaml"


def fom(study: StudyFile, as_json: Json = False) -> None:
    """Figures of merit of the machines of a study."""
    from estimator.api import merit as api
    from estimator.cli.render.fom import render_fom

    result = api.figure_of_merit(study)
    emit(result.document(), partial(render_fom, title=result.study.title), as_json)
