import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.vision.networks.backbones import BackboneOutput
from polyglance.vision.networks.preprocess import Preprocessing
from tests.evaluation.conftest import command  # noqa: F401


class Thumbnails:
    """A stand-in for a network: a picture as 4×4 mean colours."""

    preprocessing = Preprocessing(16, 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    identity = "thumbnails"

    def dims(self):
        return 48, 0

    def __call__(self, pixels):
        small = pixels.reshape(-1, 3, 4, 4, 4, 4).mean((3, 5))
        return BackboneOutput(small.reshape(len(small), -1), None)


@pytest.fixture(scope="module")
def thumbnails(tmp_path_factory):
    """Makes thumbnails the feature behind every extractor name, in a fresh cache."""
    backbone = Thumbnails()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "polyglance.vision.extraction.extract.open_backbone", lambda _name, _cache: backbone
        )
        patch.setenv("POLYGLANCE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def run():
    """Runs a command in this process and returns its result; user errors are raised."""

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if isinstance(result.exception, PolyglanceError):
            raise result.exception
        assert result.exit_code == 0, result.output + repr(result.exception)
        return result

    return invoke


@pytest.fixture
def shell(tmp_path):
    """Runs the program as a user does, in an empty folder, and returns the finished process."""

    def start(*arguments, **environment):
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
        code = "from polyglance.cli import main; main()"
        words = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(
            words, capture_output=True, encoding="utf-8", cwd=tmp_path, env=variables
        )

    return start
