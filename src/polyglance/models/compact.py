"""The deployed form of a model of universal words: their vectors stored, not computed."""

import torch

from polyglance.errors import PolyglanceError
from polyglance.models.model import Model
from polyglance.recipes.schema import UniversalEmbedderRecipe
from polyglance.text.added_words import AddedReader
from polyglance.text.closed import ClosedVocabularies
from polyglance.text.tower import LanguageTowers, TextTower
from polyglance.text.universal_words import StoredWords, UniversalWords


def compact(model: Model) -> Model:
    """A model with the same results, of which the image tower, the GRU and a table are left.

    Words' own vectors, languages' layers and latent tokens become one row of a table for each
    token; what training alone needs is dropped (SMALR §5: 7.1M parameters beside the table).
    """
    reader, recipe = model.reader, model.recipe
    if isinstance(reader, AddedReader):
        raise PolyglanceError(
            f"'add-language' has given this model {', '.join(reader.added)}; compact the model "
            "that it was made from, and add the language to the compact one"
        )
    if not isinstance(reader, ClosedVocabularies):
        raise PolyglanceError(
            f"a model of text.embedder.kind={recipe.text.embedder.kind} has nothing to compact; "
            "those of universal words do (mule, smalr, …)"
        )
    embedder = recipe.text.embedder
    assert isinstance(embedder, UniversalEmbedderRecipe)
    if embedder.stored:
        raise PolyglanceError("the model is compact already")
    text = recipe.text.model_copy(update={"embedder": embedder.model_copy(update={"stored": True})})
    small = Model(
        recipe.model_copy(update={"text": text}),
        ClosedVocabularies(reader.tables, reader.layout),
        model.feature_dim,
        model.languages,
    )
    kept, state = small.network.state_dict(), model.network.state_dict()
    small.network.load_state_dict({**kept, **{k: v for k, v in state.items() if k in kept}})
    for old, new in zip(_towers(model), _towers(small), strict=True):
        _store(old.words, new.words)
    return small


def _towers(model: Model) -> list[TextTower]:
    text = model.network.text
    towers = text.towers.values() if isinstance(text, LanguageTowers) else [text]
    return [tower for tower in towers if isinstance(tower, TextTower)]


def _store(words: torch.nn.Module, stored: torch.nn.Module) -> None:
    assert isinstance(words, UniversalWords)
    assert isinstance(stored, StoredWords)
    ids = torch.arange(stored.first, stored.first + len(stored.table) - 1)
    with torch.no_grad():
        stored.table[1:] = words(ids)
