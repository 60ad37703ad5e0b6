"""How an evaluation translates queries, as options and study files say it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.protocol import Encoder, choose_captions
from polyglance.evaluation.translated import Translated
from polyglance.translation import make_translator


@dataclass(frozen=True)
class Translation:
    """How queries are translated before a model is asked.

    `targets` are the languages, by default all of the model; `consistency` joins their scores:
    `average` is CLC-A, `learned` CLC-C with weights from the split `learn_on`.
    """

    translator: str
    targets: tuple[str, ...] | None = None
    consistency: Literal["average", "learned"] | None = None
    learn_on: str = "val"

    def __post_init__(self) -> None:
        if self.consistency is None and len(self.targets or ()) != 1:
            raise PolyglanceError(
                "name one language to translate queries to, or how to join the scores of several: "
                "average or learned"
            )
        if self.consistency not in (None, "average", "learned"):
            raise PolyglanceError(
                f"consistency '{self.consistency}': expected average (CLC-A) or learned (CLC-C)"
            )

    def of(
        self,
        model: Encoder,
        dataset: Dataset,
        split: str,
        languages: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        cache: Path | None = None,
        show_progress: bool | None = None,
    ) -> tuple[Translated, list[str]]:
        """The model asked in translation, and notes to tell; all translations are there."""
        known = getattr(model, "languages", None) or dataset.languages
        translated = Translated(
            model, make_translator(self.translator), self.targets or known, cache
        )
        chosen = choose_captions(dataset.split(split), languages, kinds)
        shares = translated.translate_captions(chosen, show_progress)
        notes = [
            f"{100 * (1 - share):.0f} % of the translations of '{code}' are missing"
            for code, share in shares.items()
            if share < 1
        ]
        if self.consistency == "learned":
            if split == self.learn_on:
                notes.append(f"the weights are learnt on '{split}' and judged on it, too")
            codes = [captions.language for captions in chosen]
            translated.learn(dataset, self.learn_on, codes, kinds, show_progress)
            notes += translated.weight_notes()
        return translated, notes
