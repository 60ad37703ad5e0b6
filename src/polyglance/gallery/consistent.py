"""Queries in all languages of a model at once (Burns et al. 2020, SMALR, §3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.query import GivenQueries, Query, query_texts
from polyglance.text.tokenizers.base import read_words

if TYPE_CHECKING:
    from polyglance.evaluation.translations.consistency_file import Weights
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel


@dataclass(frozen=True)
class ConsistentQueries:
    """Queries with their translations: `texts` by target language, None if there is none.

    `weights` combine the scores (CLC-C); None is their mean (CLC-A).
    """

    queries: list[Query]
    texts: dict[str, list[str | None]]
    notes: list[str]
    weights: "Weights | None" = None

    def scores(self, model: "Model | ExportedModel", gallery: Gallery) -> np.ndarray:
        """Combined scores [N, Q] of a gallery's images and the queries."""
        from polyglance.evaluation.encoder import encode_quietly
        from polyglance.evaluation.translations.consistency import average_scores

        present = np.array([[text is not None for text in own] for own in self.texts.values()]).T
        shape = len(self.texts), len(gallery), len(self.queries)
        scores = np.zeros(shape, np.float32)
        for number, (target, own) in enumerate(self.texts.items()):
            there = np.flatnonzero(present[:, number])
            if len(there):
                found = [own[row] or "" for row in there]
                texts = encode_quietly(model, found, target)
                scores[number][:, there] = model.similarity(gallery.embeddings, texts)
        if self.weights is None:
            return average_scores(scores, present)
        return self.weights.combine(scores, present)


def translate_to_all(
    model: "Model | ExportedModel",
    queries: GivenQueries,
    language: str | Sequence[str | None] | None,
    translator: str | None,
    target: str | None = None,
    cache: Path | None = None,
    folder: Path | None = None,
) -> ConsistentQueries:
    """Translate queries to all languages of the model, or to those in `target`.

    Args:
        model: to query.
        queries: one or several sentences.
        language: of all queries; the model does not need to know it.
        translator: such as "lexicon:FILE".
        target: comma-separated languages; by default all of the model.
        cache: folder for translations.
        folder: the model's, which may have stored weights.
    """
    from polyglance.translation import make_translator, translate

    if translator is None:
        raise ArgumentError("`consistency` needs a `translator`")
    if not isinstance(language, str):
        raise ArgumentError("`consistency` needs the `language` of the queries, one for all")
    texts = query_texts(queries)
    targets = _targets(model, target)
    made = make_translator(translator)
    found: dict[str, list[str | None]] = {}
    for code in targets:
        own = list(texts) if code == language else translate(made, texts, language, code, cache)
        found[code] = [text if text and _is_known(model, text, code) else None for text in own]
    for number, text in enumerate(texts):
        if not any(own[number] for own in found.values()):
            raise PolyglanceError(
                f"'{text}' can be translated to none of {', '.join(targets)}: the translator "
                "has no translation with words that the model knows"
            )
    weights, notes = _kept_weights(folder, targets, language, made.name)
    checked = [_query(model, text, language) for text in texts]
    return ConsistentQueries(
        checked, found, _translation_notes(texts, found, language) + notes, weights
    )


def _targets(model: "Model | ExportedModel", wanted: str | None) -> list[str]:
    if wanted is None:
        return list(model.languages)
    targets = [code.strip() for code in wanted.split(",") if code.strip()]
    for code in targets:
        if code not in model.languages:
            known = ", ".join(model.languages)
            raise ArgumentError(f"`translate_to` {code}: the model knows {known}")
    if not targets:
        raise ArgumentError(f"`translate_to` '{wanted}': is empty; leave it out for all")
    return targets


def _is_known(model: "Model | ExportedModel", text: str, language: str) -> bool:
    """Whether the model knows at least one word of a text."""
    words, unknown = model.embedder.read([text], language)[0]
    return len(unknown) < len(words)


def _query(model: "Model | ExportedModel", text: str, language: str) -> Query:
    if language in model.languages:
        return Query(text, language, *model.embedder.read([text], language)[0])
    return Query(text, language, tuple(read_words(model.recipe.text, [text], language)[1][0]), ())


def _kept_weights(
    folder: Path | None, targets: list[str], language: str, translator: str
) -> tuple["Weights | None", list[str]]:
    """The stored weights for the query's language, if they match, and notes on combining scores."""
    from polyglance.evaluation.translations.consistency_file import FILE, read_weights

    kept = None if folder is None else read_weights(folder)
    if kept is None:
        return None, []
    if kept.targets != targets:
        return None, [f"{FILE} has weights for {', '.join(kept.targets)}; the mean is used"]
    if language not in kept.weights:
        return None, [f"{FILE} has no weights for queries in '{language}'; the mean is used"]
    notes = [f"scores are combined with the weights in {FILE}"]
    if kept.translator != translator:
        notes.append(f"{FILE} was learned with {kept.translator}, not {translator}")
    return kept.weights[language], notes


def _translation_notes(
    texts: Sequence[str], found: dict[str, list[str | None]], language: str
) -> list[str]:
    """Notes on the translations of each query, and on missing ones."""
    notes = []
    for number, text in enumerate(texts):
        checked = {code: own[number] for code, own in found.items() if code != language}
        there = [f"{code} '{other}'" for code, other in checked.items() if other]
        missing = [code for code, own in found.items() if not own[number]]
        if there:
            notes.append(f"'{text}' is also searched for as {', '.join(there)}")
        if missing:
            notes.append(f"'{text}' is not searched for in {', '.join(missing)}")
    return notes
