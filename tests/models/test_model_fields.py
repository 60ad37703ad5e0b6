"""model.json with a field that is wrong."""

import json
from pathlib import Path

import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from tests.training.runs import run


@pytest.mark.parametrize(
    ("field", "value"),
    [("recipe", None), ("feature_dim", "x"), ("feature_dim", -3), ("languages", "en")],
)
def test_a_wrong_field_is_named(toy: Path, tmp_path: Path, field: str, value: object) -> None:
    run(toy, tmp_path / "run", "training.updates=1")
    path = tmp_path / "run" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(PolyglanceError, match=rf"model\.json: .*{field}"):
        Model.load(tmp_path / "run")
