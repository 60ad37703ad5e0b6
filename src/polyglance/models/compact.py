"""Compact models for deployment: universal word vectors are stored, not computed."""

from polyglance.models.model import Model


def compact(model: Model) -> Model:
    """A model with the same results, reduced to the image tower, the encoder and a table.

    Word vectors, languages' layers and latent tokens become one row of a table per token; whatever
    only training needs is dropped (Burns et al. 2020, SMALR, §5: 7.1M parameters besides the
    table).
    """
    embedder = model.embedder.compact()
    small = Model(embedder.recipe, embedder, model.feature_dim, model.languages)
    small.drawings = model.drawings
    kept, state = small.network.state_dict(), model.network.state_dict()
    small.network.load_state_dict({**kept, **{k: v for k, v in state.items() if k in kept}})
    old, new = model.network.text.word_layers(), small.network.text.word_layers()
    for words, stored in zip(old, new, strict=True):
        stored.store(words)  # type: ignore[operator]
    return small
