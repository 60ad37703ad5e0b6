"""How an evaluation translates queries, as options, recipes and study files say it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from polyglance.data.dataset import Dataset
from polyglance.data.load import TABLES
from polyglance.errors import PolyglanceError
from polyglance.evaluation.captions import Kinds, choose_captions
from polyglance.evaluation.encoder import Encoder
from polyglance.evaluation.translations.consistency_file import write_weights
from polyglance.evaluation.translations.translated import Translated
from polyglance.translation import make_translator

DATA = "$data"
"""Stands in a translator's name for the dataset that is evaluated on."""


@dataclass(frozen=True)
class Translation:
    """How queries are translated before a model is asked.

    What is None is as the model's recipe says: `Translation()` asks a model as its recipe does.

    Args:
        translator: such as "captions:$data" or "lexicon:FILE"; $data is the data evaluated on.
        targets: the languages to translate to, by default all of the model.
        consistency: how scores of several are joined: "average" is CLC-A, "learned" CLC-C with
            weights from the split `learn_on`, "literal" the same with all parameters and no
            correction; None is for one language.
        learn_on: a split.
        keep: a model's folder to write the weights to, where a search finds them.
    """

    translator: str | None = None
    targets: Sequence[str] | None = None
    consistency: Literal["average", "learned", "literal"] | None = None
    learn_on: str = "val"
    keep: Path | None = None

    def __post_init__(self) -> None:
        if self.consistency not in (None, "average", "learned", "literal"):
            raise PolyglanceError(
                f"consistency '{self.consistency}': expected average (CLC-A), learned (CLC-C) or "
                "literal (CLC-C with all its parameters)"
            )
        if self.consistency is None and len(self.targets or ()) > 1:
            raise PolyglanceError(
                "name one language to translate queries to, or how to join the scores of several: "
                "average or learned"
            )

    def resolve(self, model: Any) -> "Translation | None":
        """This, completed from the model's recipe; None is without translating."""
        found, recipe = self, getattr(model, "recipe", None)
        default = None if recipe is None else recipe.translation
        if default is not None:
            if self.targets is None and self.consistency is None:
                found = replace(found, targets=default.to, consistency=default.consistency)
            found = replace(found, translator=self.translator or _harmless(default.translator))
        if found.translator is None:
            if found.targets or found.consistency:
                option = "--translate-to" if found.targets else "--consistency"
                raise PolyglanceError(f"{option} needs a --translator")
            if found.keep is not None:
                raise PolyglanceError("--keep-weights needs --consistency learned")
            return None
        if not found.targets and not found.consistency:
            raise PolyglanceError("--translator needs --translate-to LANGUAGE or --consistency")
        return found

    def apply(
        self,
        model: Encoder,
        dataset: Dataset,
        split: str,
        languages: Sequence[str] | None = None,
        kinds: Kinds | None = None,
        cache: Path | None = None,
        show_progress: bool | None = None,
    ) -> tuple[Translated, list[str]]:
        """The model asked in translation, with all translations made, and notes to tell.

        Args:
            model: what is asked.
            dataset: what it is evaluated on.
            split: which of its images.
            languages: those evaluated, all by default.
            kinds: kinds of captions, a language's best by default.
            cache: folder for translations.
            show_progress: None shows progress on a terminal only.
        """
        known = getattr(model, "languages", None) or dataset.languages
        translator = make_translator(_located(self.translator or "", dataset))
        translated = Translated(model, translator, self.targets or known, cache)
        chosen = choose_captions(dataset.split(split), languages, kinds)
        shares = translated.translate_captions(chosen, show_progress)
        notes = [
            f"{100 * (1 - share):.0f} % of the translations of '{code}' are missing"
            for code, share in shares.items()
            if share < 1
        ]
        if self.keep is not None and self.consistency not in ("learned", "literal"):
            raise PolyglanceError("--keep-weights needs --consistency learned")
        if self.consistency in ("learned", "literal"):
            if split == self.learn_on:
                notes.append(f"the weights are learned on '{split}' and evaluated on it, too")
            sources = [captions.language for captions in chosen]
            literal = self.consistency == "literal"
            translated.learn(dataset, self.learn_on, sources, kinds, show_progress, literal)
            notes += translated.weight_notes()
        if self.keep is not None:
            names = translated.targets, translator.name
            notes.append(f"weights: {write_weights(self.keep, *names, translated.weights)}")
        return translated, notes


def _harmless(translator: str) -> str:
    """A translator that a model's recipe may name: the data at hand, or a file in its folder.

    Any other would let a model from elsewhere send captions to a server, or read files.
    """
    if not re.fullmatch(r"(captions|file):\$data(/\w[\w.-]*)*", translator):
        raise PolyglanceError(
            f"the model's recipe translates by '{translator}'; what a model's files name is "
            "neither contacted nor read: if you trust it, give it yourself with --translator"
        )
    return translator


def _located(translator: str, dataset: Dataset) -> str:
    """The translator's name with the dataset's place in it."""
    if DATA not in translator:
        return translator
    file, place = dataset.file, dataset.root
    if file is not None and file.suffix.lower() in TABLES:
        place = file
    if place is None:
        raise PolyglanceError(
            f"translator '{translator}': the dataset '{dataset.name}' is in no file; name one"
        )
    return translator.replace(DATA, str(place))
