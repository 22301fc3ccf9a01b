"""The import of TensorFlow, and what of its output is suppressed."""

import os
import warnings

import pytest

from estimator.collect.capture import tensorflow_import


def test_output_of_the_users_file_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with tensorflow_import.suppress_output():
        print("a line")
        os.write(2, b"noise of compiled code\n")
        warnings.warn("of no concern", stacklevel=1)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "a line\n")
