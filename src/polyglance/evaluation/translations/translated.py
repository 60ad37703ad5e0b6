"""A model whose queries are translated into one language, or several with combined scores."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import ArgumentError, NoWords, PolyglanceError
from polyglance.evaluation.captions import (
    EvaluatedCaptions,
    Kinds,
    choose_captions,
    readable_captions,
)
from polyglance.evaluation.encoder import (
    Encoder,
    as_embeddings,
    concatenate,
    dim_of,
    encode_quietly,
    finite,
    similarity_of,
)
from polyglance.evaluation.translations.consistency import (
    average_scores,
    fill_missing,
    fit_consistency,
)
from polyglance.evaluation.translations.consistency_file import Weights
from polyglance.evaluation.translations.literal_consistency import fit_literal
from polyglance.numerics.sets import Embeddings
from polyglance.translation import Translator, translate

MOST_IMAGES = 1024
"""Number of images to train CLC-C on, the first of the split; all pairs are in memory at once."""


class TranslatedTexts:
    """Embeddings of texts in several languages, [n, L]; images have one view.

    Args:
        parts: L embeddings [n, D], one per view.
        present: [n, L] bool, whether a view exists; if not, its embedding is that of another view.
        language: of the texts, "" for images.
    """

    def __init__(
        self, parts: Sequence[Embeddings], present: np.ndarray, language: str = ""
    ) -> None:
        self.parts, self.present, self.language = list(parts), present, language

    @staticmethod
    def concatenate(views: Sequence["TranslatedTexts"]) -> "TranslatedTexts":
        """The rows of all views, in order."""
        parts = [concatenate(own) for own in zip(*(one.parts for one in views), strict=True)]
        return TranslatedTexts(
            parts, np.concatenate([one.present for one in views]), views[0].language
        )

    @property
    def dim(self) -> object:
        """What images and texts must have in common."""
        return dim_of(self.parts[0])

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, rows: Any) -> "TranslatedTexts":
        return TranslatedTexts(
            [part[rows] for part in self.parts], self.present[rows], self.language
        )

    def finite(self) -> np.ndarray:
        """[n] bool: which rows are finite in every view."""
        return np.logical_and.reduce([finite(part) for part in self.parts])


class Translated:
    """An `Encoder` that translates each query into `targets` and combines the scores.

    With one target it is "translate to English"; with several, their mean (CLC-A) or, after
    `learn`, a weighted combination for the query's language (CLC-C). Targets into which a text
    cannot be translated are ignored; a text without any translation is used untranslated.

    `evaluate(Translated(model, make_translator("captions:DATA"), ["en", "de"]), dataset)`
    evaluates CLC-A.

    Args:
        model: encodes the translations.
        translator: translates the queries.
        targets: languages to translate to.
        cache: folder for translations and features; None for the XDG cache.
    """

    languages = None
    """None means all, so that `evaluate` passes the language of every query."""

    def __init__(
        self,
        model: Encoder,
        translator: Translator,
        targets: Sequence[str],
        cache: Path | None = None,
    ) -> None:
        self.model, self.translator, self.targets = model, translator, list(targets)
        self.known: Sequence[str] | None = getattr(model, "languages", None)
        _check_targets(self.targets, self.known)
        self.cache = cache
        self.weights: dict[str, Weights] = {}
        name, self._prepare, self._score = similarity_of(model)
        self._texts: dict[tuple[str, str], dict[str, str | None]] = {}
        self.similarity_name = f"{name}, translated to {', '.join(self.targets)}"

    def translate_captions(
        self, chosen: Sequence[EvaluatedCaptions], show_progress: bool | None = None
    ) -> dict[str, float]:
        """Translate captions before encoding, with a progress bar.

        Returns the share of translations found, by language; an error if there are none.
        """
        shares = {}
        for captions in chosen:
            found = [
                text is not None
                for target in self.targets
                if target != captions.language
                for text in self._translations(
                    captions.texts, captions.language, target, show_progress
                )
            ]
            shares[captions.language] = float(np.mean(found)) if found else 1.0
            if not shares[captions.language]:
                raise ArgumentError(
                    f"{self.translator.name}: translates none of the {len(captions.texts)} "
                    f"captions in '{captions.language}' ({', '.join(captions.kinds)}); choose "
                    "another translator, or other `languages` or `kinds`"
                )
        return shares

    def _translations(
        self, texts: Sequence[str], source: str, target: str, show: bool | None
    ) -> list[str | None]:
        kept = self._texts.setdefault((source, target), {})
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        found = translate(self.translator, new, source, target, self.cache, show)
        kept.update(zip(new, found, strict=True))
        return [kept[text] for text in texts]

    def encode_text(
        self, texts: list[str], language: str | None = None, *, show_progress: bool | None = None
    ) -> TranslatedTexts:
        """`Encoder.encode_text` in every target language."""
        if language is None:
            raise PolyglanceError("to translate a text, state its language")
        own = language if self.known is None or language in self.known else None
        encoded = encode_quietly(self.model, texts, own, show_progress)
        plain = self._prepare(as_embeddings(encoded))
        parts, present = [], []
        for target in self.targets:
            found, there = self._encode(texts, language, target, plain, show_progress)
            parts.append(found)
            present.append(there)
        has = np.stack(present, axis=1)
        # All views of a text without translations are `plain`.
        has[~has.any(axis=1), 0] = True
        return TranslatedTexts(parts, has, language)

    def _encode(
        self, texts: list[str], source: str, target: str, plain: Embeddings, show: bool | None
    ) -> tuple[Embeddings, np.ndarray]:
        """Embeddings in one language, `plain` where there is no translation, and which exist."""
        if target == source:
            return plain, np.ones(len(texts), bool)
        found = self._translations(texts, source, target, show)
        there = np.array([text is not None for text in found])
        while there.any():
            rows = np.flatnonzero(there)
            try:
                own = [found[row] or "" for row in rows]
                encoded = encode_quietly(self.model, own, target, show)
            except NoWords as error:
                there[rows[error.index]] = False
                continue
            order = np.concatenate([rows, np.flatnonzero(~there)])
            kept = self._prepare(as_embeddings(encoded))
            joined = concatenate([kept, plain[np.flatnonzero(~there)]])
            return joined[np.argsort(order)], there
        return plain, there

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> TranslatedTexts:
        """`Encoder.encode_dataset`, as a single view."""
        found = self.model.encode_dataset(dataset, cache=cache, show_progress=show_progress)
        return TranslatedTexts(
            [self._prepare(as_embeddings(found))], np.ones((len(dataset), 1), bool)
        )

    def similarity(self, images: TranslatedTexts, texts: TranslatedTexts) -> np.ndarray:
        """Combined scores [n, m]."""
        scores = self._scores(images, texts)
        weights = self.weights.get(texts.language)
        if weights is None:
            return average_scores(scores, texts.present)
        return weights.combine(scores, texts.present)

    def _scores(self, images: TranslatedTexts, texts: TranslatedTexts) -> np.ndarray:
        """Scores [L, n, m] of every view."""
        own = images.parts[0]
        return np.stack([np.asarray(self._score(own, part), np.float32) for part in texts.parts])

    def learn(
        self,
        dataset: Dataset,
        split: str = "val",
        languages: Sequence[str] | None = None,
        kinds: Kinds | None = None,
        show_progress: bool | None = None,
        literal: bool = False,
    ) -> None:
        """Train CLC-C on a split, with separate weights for each query language.

        Args:
            dataset: images with captions.
            split: of the dataset.
            languages: of the queries; all of the split by default.
            kinds: kinds of captions, a language's best by default.
            show_progress: whether to show a progress bar; None for only on a terminal.
            literal: whether to train all parameters as in the paper, not the reduced form.
        """
        part = dataset.split(split)
        part = replace(part, images=part.images[:MOST_IMAGES])
        wanted = None if languages is None else [c for c in languages if c in part.languages]
        chosen = choose_captions(part, wanted, kinds)
        self.translate_captions(chosen, show_progress)
        images = self.encode_dataset(part, self.cache, show_progress)
        readable = finite(images)
        for captions in chosen:
            source = readable_captions(captions, readable)
            if len(np.unique(source.image)) < 2:
                continue
            views = self.encode_text(source.texts, source.language, show_progress=show_progress)
            gallery, owner = np.unique(source.image, return_inverse=True)
            scores = fill_missing(self._scores(images[gallery], views), views.present)
            fit = fit_literal if literal else fit_consistency
            self.weights[source.language] = fit(scores, owner)
        how = "literally weighted" if literal else "weighted"
        self.similarity_name = f"{self.similarity_name}, {how} on {split}"

    def weight_notes(self) -> list[str]:
        """The weights of the languages, for queries in each language."""
        notes = []
        for code, weights in self.weights.items():
            shares = zip(self.targets, weights.shares, strict=True)
            listed = ", ".join(f"{target} {100 * share:.0f}" for target, share in shares)
            notes.append(f"weights of a query in '{code}' in %: {listed}")
        return notes


def _check_targets(targets: Sequence[str], known: Sequence[str] | None) -> None:
    if not targets:
        raise PolyglanceError("name a language to translate to")
    for code in targets if known is not None else ():
        if code not in (known or ()):
            raise PolyglanceError(
                f"the model was not trained on language '{code}', so translating to it is "
                f"useless; it knows {', '.join(known or ())}"
            )
