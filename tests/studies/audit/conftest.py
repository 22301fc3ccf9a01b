"""What the tests of an audit share."""

import pytest

from tests.studies.audit.tables import audit_rows


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The kernels of an epoch of row A on each device [s], as predicted."""
    audit = audit_rows(tmp_path_factory.mktemp("kernels"), {"old": "999 s", "new": "999 s"})
    of_row = [checked for checked in audit.checked["times"] if checked.row == "A"]
    return {str(checked.column): float(checked.ours.samples[0]) for checked in of_row if checked.ours}
