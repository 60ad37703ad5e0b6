"""Words of all languages as tokens with one numbering (Kim et al. 2020, MULE; SMALR, §3.1)."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import LatentRare, Recipe, UniversalEmbedderRecipe, masks_words
from polyglance.storage.files import read_json, write_json
from polyglance.text.embedders.base import (
    Embedder,
    LanguageTags,
    ReadWords,
    Substitutes,
    Texts,
    TrainingTexts,
    Words,
    by_language,
    register,
)
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.embedders.universal.build import build_tokens
from polyglance.text.embedders.universal.layout import NOTHING, InitialVectors, Layout
from polyglance.text.embedders.universal.sharing import token_sharing
from polyglance.text.lexicon import Lexicon
from polyglance.text.vectors.trained import universal_lexicon

if TYPE_CHECKING:
    from polyglance.text.embedders.layer import WordLayer

FILE = "vocabulary.json"


@register
class UniversalEmbedder(Embedder):
    """Words of all languages → tokens; unknown words are dropped.

    Several words may share a token: a latent one, or the pivot's word that rare words are
    translated to. `first` is available only in training.

    Args:
        recipe: of the whole model.
        tables: word → token, by language.
        layout: the numbering of the tokens.
        first: their initial vectors; None for random ones.
    """

    variants = (UniversalEmbedderRecipe,)
    empty = NOTHING

    def __init__(
        self,
        recipe: Recipe,
        tables: Mapping[str, Mapping[str, int]],
        layout: Layout,
        first: InitialVectors | None = None,
    ) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.text.embedder, UniversalEmbedderRecipe)
        self.settings = recipe.text.embedder
        self.tables, self.layout, self.first = dict(tables), layout, first

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "UniversalEmbedder":
        return cls(recipe, *build_tokens(recipe, texts))

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> "UniversalEmbedder":
        settings = recipe.text.embedder
        assert isinstance(settings, UniversalEmbedderRecipe)
        own = words if settings.frequent is None else min(settings.frequent, words)
        rare = settings.rare
        latent = min(rare.tokens, words - own) if isinstance(rare, LatentRare) else 0
        return cls(recipe, {"xx": {}}, Layout(latent, {"xx": own}))

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "UniversalEmbedder":
        value, where = read_json(folder / FILE), str(folder / FILE)
        fields = value if isinstance(value, dict) else {}
        latent, own, tables = (fields.get(name) for name in ("latent", "own", "tables"))
        if not isinstance(own, dict) or not _counts([latent, *own.values()]):
            raise PolyglanceError(f"{where}: fields 'latent' and 'own' must be token counts")
        if not isinstance(tables, dict) or not tables:
            raise PolyglanceError(f"{where}: field 'tables' must have words by language")
        layout = Layout(int(latent or 0), own)
        read = {code: _table(one, layout, f"{where}, {code}") for code, one in tables.items()}
        return cls(recipe, read, layout)

    def save(self, folder: Path) -> None:
        tables = {
            code: {"words": list(table), "tokens": list(table.values())}
            for code, table in self.tables.items()
        }
        layout = {"latent": self.layout.latent, "own": dict(self.layout.own)}
        write_json(folder / FILE, {**layout, "tables": tables})

    @property
    def towers(self) -> list[str]:
        return [""] if self.recipe.text.towers == "shared" else list(self.tables)

    def layers(self) -> "Iterator[tuple[str, WordLayer]]":
        """The layers of all towers, all created before the first tower."""
        yield from [(tower, self.layer(tower)) for tower in self.towers]

    def layer(self, tower: str = "") -> "WordLayer":
        from polyglance.text.embedders.universal.layer import StoredWords, UniversalWords

        layout, settings = self.layout, self.settings
        if settings.stored:
            start, end = layout.own_ranges[tower] if tower else (1, layout.total)
            return StoredWords(start, end - start, settings.word_dim)
        if tower and not layout.own[tower]:
            raise PolyglanceError(
                f"text.towers=per-language shares no words, but '{tower}' has none of its own: "
                "lower text.embedder.frequent_count, or set text.towers=shared"
            )
        words = UniversalWords(layout, settings.own_dim, settings.word_dim, self._masks, tower)
        if self.first is not None:
            words.initialise(self.first.own, self.first.latent)
        if self.recipe.compat.padded_average:
            if not all(layout.own.values()):
                raise PolyglanceError(
                    "compat.padded_average needs words of their own in every language: "
                    "lower text.embedder.frequent_count, or set text.embedder.frequent above 0"
                )
            words.add_padding(self.recipe.text.max_length)
        return words

    @property
    def _masks(self) -> bool:
        return masks_words(self.recipe.sampling) or self.recipe.augment.word_drop > 0

    def _table(self, language: str | None) -> Mapping[str, int]:
        """word → token of a language, which may be None if there is only one."""
        if language is None and len(self.tables) == 1:
            return next(iter(self.tables.values()))
        return by_language(self.tables, language)

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Tokens of the known words, or `NOTHING` if there are none."""
        parts = []
        for found, language in zip(words, languages, strict=True):
            table = self._table(language)
            known = [table[word] for word in found if word in table]
            parts.append(known[: self.recipe.text.max_length] or [NOTHING])
        return EncodedTexts(Ragged.join(parts))

    def substitutes(self, language: str | None) -> Substitutes:
        """The mask, and any word of the language."""
        words = np.array(sorted(set(self._table(language).values())), np.int64)
        return Substitutes(self.layout.total, words, np.empty(0, np.int64))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """The words, and those that are dropped."""
        table = self._table(language)
        return tuple(words), tuple(word for word in words if word not in table)

    def known_words(self, language: str) -> Sequence[str]:
        return tuple(self._table(language))

    def token_sharing(self) -> dict[str, float]:
        lexicon = None
        if self.layout.latent:
            with contextlib.suppress(PolyglanceError):  # pairs are counted only with a lexicon
                lexicon = Lexicon.open(universal_lexicon(self.settings, "token sharing"))
        return token_sharing(self.tables, self.layout.latent, lexicon)

    def compact(self) -> "UniversalEmbedder":
        if self.settings.stored:
            raise PolyglanceError("the model is already compact")
        text = self.recipe.text
        stored = text.model_copy(
            update={"embedder": self.settings.model_copy(update={"stored": True})}
        )
        recipe = self.recipe.model_copy(update={"text": stored})
        return UniversalEmbedder(recipe, self.tables, self.layout)


def _counts(values: Iterable[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


def _table(value: Any, layout: Layout, where: str) -> dict[str, int]:
    fields = value if isinstance(value, dict) else {}
    words, tokens = fields.get("words"), fields.get("tokens")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise PolyglanceError(f"{where}: field 'words' must be a list of words")
    if (
        not isinstance(tokens, list)
        or len(tokens) != len(words)
        or not _counts(tokens)
        or max(tokens, default=0) >= layout.total
    ):
        raise PolyglanceError(f"{where}: field 'tokens' must have a token for each of the words")
    return dict(zip(words, tokens, strict=True))
