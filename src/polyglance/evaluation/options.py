"""What can be chosen of an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.captions import Kinds, Perturb

if TYPE_CHECKING:
    from polyglance.evaluation.translations.translation import Translation


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """What a model is evaluated on, and how.

    >>> EvaluateOptions(same_text=True, folds=5)
    Traceback (most recent call last):
    polyglance.errors.PolyglanceError: equal texts as one caption go with neither folds nor \
strict recalls

    Args:
        languages: those to evaluate, all of the split by default.
        kinds: kinds of captions, for all languages or by language; by default a language's
            independent ones where it has them, else translations, else machine translations.
        folds: contiguous folds of the gallery to average over; 5 for COCO's 1K protocol.
        bootstrap: resamples for the intervals; 0 is none.
        seed: of resamples and perturbations.
        strict: also strict recall, the share of an image's own captions that is found.
        keep_duplicates: whether a caption that an image has twice counts twice. By default it
            counts once, so that replicated captions leave the recalls as they are.
        same_text: whether captions of equal text are one caption of all their images, as in
            HGR's evaluation of video.
        perturb: changes captions before they are encoded: a name such as "typos:0.2", or what
            `polyglance.evaluation.perturb.make_perturber` makes.
        lexicon: the file that a named perturbation by meaning needs.
        translation: how queries are translated before the model is asked.
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
                raise PolyglanceError(f"{field}={value!r}: give a list, such as [{value!r}]")
        for field, least in (("folds", 1), ("bootstrap", 0), ("seed", 0)):
            if (value := getattr(self, field)) < least:
                raise PolyglanceError(f"{field}={value}: give {least} or more")
        if self.same_text and (self.folds > 1 or self.strict):
            raise PolyglanceError(
                "equal texts as one caption go with neither folds nor strict recalls"
            )

    def perturber(self, dataset: Dataset) -> Perturb | None:
        """What changes the captions of `dataset`, if anything does."""
        if not isinstance(self.perturb, str):
            return self.perturb
        from polyglance.evaluation.perturb import make_perturber

        return make_perturber(self.perturb, dataset, self.lexicon, self.seed)
