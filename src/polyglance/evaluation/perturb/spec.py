"""Names of perturbations: `typos:0.2`, `code-switch:0.5:de+fr`."""

from dataclasses import dataclass

from polyglance.core.languages import is_tag
from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.spelling import SPELLINGS

KINDS = ("typos", "inflections", "unseen", "code-switch", *SPELLINGS)
WITH_LEXICON = ("unseen", "code-switch")


@dataclass(frozen=True)
class Perturbation:
    """A kind of change, and the probability that a changeable word is changed.

    >>> str(Perturbation.parse("code-switch:0.50:fr+de"))
    'code-switch:0.5:de+fr'
    """

    kind: str
    rate: float
    languages: tuple[str, ...] = ()
    """Target languages of code-switch; by default all others of the data."""

    @classmethod
    def parse(cls, text: str) -> "Perturbation":
        """Parse KIND:RATE, or code-switch:RATE:LANGUAGE+LANGUAGE."""
        kind, _, rest = text.partition(":")
        if kind not in KINDS:
            raise PolyglanceError(
                f"'{text}': unknown perturbation '{kind}'{nearest(kind, list(KINDS))}"
            )
        number, separator, tags = rest.partition(":")
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if not 0 < rate <= 1:
            raise PolyglanceError(
                f"'{text}': state the share of words, above 0 and at most 1, such as {kind}:0.2"
            )
        if separator and kind != "code-switch":
            raise PolyglanceError(f"'{text}': only code-switch takes languages")
        languages = tuple(sorted(set(tags.split("+")))) if separator else ()
        if not all(map(is_tag, languages)):
            raise PolyglanceError(
                f"'{text}': separate languages with +, such as {kind}:{rate:g}:de+fr"
            )
        return cls(kind, rate, languages)

    def __str__(self) -> str:
        languages = f":{'+'.join(self.languages)}" if self.languages else ""
        return f"{self.kind}:{self.rate:g}{languages}"

    @property
    def needs_lexicon(self) -> bool:
        """Whether it replaces words using a lexicon."""
        return self.kind in WITH_LEXICON
