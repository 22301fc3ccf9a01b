"""Shared fixtures of the audit tests."""

import pytest

from tests.studies.audit.tables import audit_rows


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Predicted kernel time of an epoch of row A on each device [s]."""
    audit = audit_rows(tmp_path_factory.mktemp("kernels"), {"old": "999 s", "new": "999 s"})
    row_times = [checked for checked in audit.checked["times"] if checked.row == "A"]
    return {str(checked.column): float(checked.ours.samples[0]) for checked in row_times if checked.ours}
