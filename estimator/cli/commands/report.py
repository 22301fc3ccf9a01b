"""The command that writes a study's report."""

from estimator.cli.emit import emit
from estimator.cli.options import Json, OutputFolder, StudyFile

EXAMPLES = "Example: estimator report reports/candle-fom/study.yaml -o out"


def report(
    study: StudyFile,
    output: OutputFolder = None,
    as_json: Json = False,
) -> None:
    """Write a study's report: report.html, one offline file, and results.json."""
    from estimator.cli import documents
    from estimator.cli.render.written import render_written
    from estimator.reports.html import write_report
    from estimator.studies.run import run_study

    paths = write_report(run_study(study), output or study.parent)
    emit(documents.written(paths), render_written, as_json)
