"""Options of an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.data.dataset import Dataset
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.evaluation.captions import Kinds, Perturb

if TYPE_CHECKING:
    from polyglance.evaluation.translations.translation import Translation


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of an evaluation.

    >>> EvaluateOptions(same_text=True, folds=5)
    Traceback (most recent call last):
    polyglance.errors.ArgumentError: `same_text` cannot be combined with `folds` or `strict`

    Args:
        languages: languages to evaluate; by default all of the split.
        kinds: kinds of captions, for all languages or by language; by default a language's
            independent captions if it has any, else translations, else machine translations.
        folds: number of contiguous folds of the gallery to average over; 5 for COCO 1K.
        bootstrap: number of resamples for the intervals; 0 for none.
        seed: seed for resampling and perturbations.
        strict: also compute strict recall, the share of an image's captions found.
        keep_duplicates: count duplicate captions of an image. By default they count once, so
            that replicated captions do not change the recalls.
        same_text: treat identical captions as one caption of all their images, as in HGR's
            evaluation of video.
        perturb: perturbation of captions before encoding: a name such as "typos:0.2", or the
            result of `polyglance.evaluation.perturb.make_perturber`.
        lexicon: lexicon file, for the perturbations unseen and code-switch.
        translation: how to translate queries before encoding.
    """

    languages: Sequence[str] | None = None
    kinds: Kinds | None = None
    folds: int = 1
    bootstrap: int = 1000
    seed: int = 0
    strict: bool = False
    keep_duplicates: bool = False
    same_text: bool = False
    perturb: Perturb | str | None = None
    lexicon: Path | None = None
    translation: "Translation | None" = None

    def __post_init__(self) -> None:
        for field in ("languages", "kinds"):
            if isinstance(value := getattr(self, field), str):
                raise PolyglanceError(f"{field}={value!r}: must be a list, such as [{value!r}]")
        for field, least in (("folds", 1), ("bootstrap", 0), ("seed", 0)):
            if (value := getattr(self, field)) < least:
                raise PolyglanceError(f"{field}={value}: must be at least {least}")
        if self.same_text and (self.folds > 1 or self.strict):
            raise ArgumentError("`same_text` cannot be combined with `folds` or `strict`")

    def perturber(self, dataset: Dataset) -> Perturb | None:
        """The perturbation of the captions of `dataset`, or None."""
        if not isinstance(self.perturb, str):
            return self.perturb
        from polyglance.evaluation.perturb import make_perturber

        return make_perturber(self.perturb, dataset, self.lexicon, self.seed)
