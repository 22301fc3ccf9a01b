"""The networks of keras.applications that are shipped: their parameters, at full size and scaled."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.published.test_keras_networks import PARAMETERS

SCALE = 0.34  # Inception-v3 takes images of 75 pixels at least
COUNT = """
import sys
from estimator.collect.capture import script
name, scale = sys.argv[1], float(sys.argv[2])
with script.load_script(script.locate(name)) as own:
    print(own.names["build"](scale=scale).count_params())
"""


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(("name", "scale"), [*((name, 1.0) for name in PARAMETERS), ("xception", SCALE)])
def test_keras_counts_the_published_parameters(name: str, scale: float) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", COUNT, name, str(scale)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == PARAMETERS[name][0]  # no layer's size goes with the image's
