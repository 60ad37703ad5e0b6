"""The deployed form gives what the model gives; models of version 0.1.0 are at hand."""

from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.models.compact import compact

GOLDEN = Path(__file__).parents[1] / "v0_1_0" / "models"
TEXTS = ["rot hund", "schläft", "ein blauer baum", "zebra"]


@pytest.mark.parametrize("name", ["mule", "smalr", "par-embn", "dictionary"])
def test_the_same_embeddings(name: str, tmp_path: Path) -> None:
    model = Model.load(GOLDEN / name)
    small = compact(model)
    expected = model.encode_text(TEXTS, "de")
    np.testing.assert_allclose(small.encode_text(TEXTS, "de"), expected, atol=1e-6)
    small.save(tmp_path)
    np.testing.assert_allclose(Model.load(tmp_path).encode_text(TEXTS, "de"), expected, atol=1e-6)
    sizes, before = small.parameters(), model.parameters()
    assert sizes["words"] == 0
    assert sizes["frozen"] > 0
    assert (sizes["image"], sizes["text"]) == (before["image"], before["text"])


@pytest.mark.parametrize("name", ["mule", "smalr"])
def test_the_same_as_version_0_1_0_stored(name: str) -> None:
    new = compact(Model.load(GOLDEN / name)).network.state_dict()
    old = Model.load(GOLDEN / f"{name}-compact").network.state_dict()
    assert new.keys() == old.keys()
    for part, value in old.items():
        np.testing.assert_allclose(new[part].numpy(), value.numpy(), atol=1e-6, err_msg=part)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mule-compact", "already compact"),
        ("mule-nl", "'add-language' added nl to this model"),
        ("vsepp", r"kind=table cannot be compacted"),
        ("liwe", r"kind=liwe cannot be compacted"),
    ],
)
def test_models_that_cannot_be_compacted(name: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        compact(Model.load(GOLDEN / name))
