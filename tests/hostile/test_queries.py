"""Every query has a finite answer, or is refused with a sentence."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from tests.conftest import TOY
from tests.hostile.cases import more
from tests.hostile.models import write_model
from tests.hostile.queries import queries

CASES = more(200)


def characters_model() -> Model:
    from polyglance.text.embedders import CharacterEmbedder
    from polyglance.text.embedders.characters.alphabet import Alphabet
    from polyglance.text.embedders.characters.forms import FormTable

    kept = [one for one in TOY if "min_count" not in one and "word_dim" not in one]
    recipe = load_recipe("liwe", parse_overrides([*kept, "text.embedder.word_dim=12"]))
    settings = recipe.text.embedder
    table = FormTable(Alphabet(list("abcdeghilnorstu")), settings.word_length)
    return Model(recipe, CharacterEmbedder(recipe, {"": table}), 16, ["en"])


@pytest.mark.parametrize("kind", ["table", "characters"])
def test_every_query_has_an_answer_or_a_reason(tmp_path: Path, kind: str) -> None:
    model = Model.load(write_model(tmp_path)) if kind == "table" else characters_model()
    answered = refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)
        for query in queries(CASES):
            try:
                vectors = model.encode_text(query)
                assert vectors.shape == (1, 16)
                assert np.isfinite(vectors).all(), repr(query[:50])
                answered += 1
            except PolyglanceError:
                refused += 1
    assert answered > 50
    assert refused > 3
