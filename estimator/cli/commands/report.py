"""The command that writes a study's report."""

from estimator.cli.emit import emit
from estimator.cli.options import Json, OutputFolder, StudyFile

EXAMPLES = "Example: estimator report reports/candle-fom/study.yaml -o out"


def report(study: StudyFile, output: OutputFolder = None, as_json: Json = False) -> None:
    """Write a study's report: report.html and results.json.

    The report is one file that needs no network. For a published table, print the step that each time implies, and the
    predicted step.
    """
    from estimator.api import merit as api
    from estimator.cli import documents
    from estimator.cli.render.report import render_report

    result = api.figure_of_merit(study)
    paths = api.write_report(result, output or (study if study.is_dir() else study.parent))
    emit(documents.report(paths, result.study), render_report, as_json)
