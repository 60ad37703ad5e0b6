"""What follows from a text tower's recipe about how texts are read."""

from polyglance.recipes.schema import CharacterEmbedderRecipe, TableEmbedderRecipe, TextRecipe


def spells(recipe: TextRecipe) -> bool:
    """Whether words are read by their characters."""
    return isinstance(recipe.embedder, CharacterEmbedderRecipe)


def in_pieces(recipe: TextRecipe) -> bool:
    """Whether texts are read by a pretrained encoder's tokenizer."""
    return recipe.embedder.kind in ("pieces", "transformer")


def has_ends(recipe: TextRecipe) -> bool:
    """Whether <start> and <end> are put around a text."""
    embedder = recipe.embedder
    return isinstance(embedder, TableEmbedderRecipe | CharacterEmbedderRecipe) and embedder.ends


def pretrained(recipe: TextRecipe) -> str | None:
    """The folder of the pretrained encoder that the encoder or the embedder is."""
    part = recipe.encoder if recipe.encoder.kind == "transformer" else recipe.embedder
    return getattr(part, "pretrained", None)
