"""An exported model runs where nothing of `[train]` can be imported."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.runtime.trained import TEXTS, exported, trained
from tests.test_missing_packages import TRAIN

SCRIPT = """
import json, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in json.loads(sys.argv[3]):
            raise ImportError(name)

sys.meta_path.insert(0, Block())
from polyglance import runtime

model = runtime.load(sys.argv[1])
found = model.encode_text(json.loads(sys.argv[2]), "en")
print(json.dumps([found.tolist(), "torch" in sys.modules, model.languages, model.dim]))
"""


def test_without_torch(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, "nce")
    exported(tmp_path, model)
    blocked = json.dumps(TRAIN)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "out"), json.dumps(TEXTS["en"]), blocked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, imported, languages, dim = json.loads(done.stdout)
    np.testing.assert_allclose(found, model.encode_text(TEXTS["en"], "en"), atol=1e-5)
    assert (imported, languages, dim) == (False, ["de", "en"], 16)
