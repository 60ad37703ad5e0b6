"""Settings for translating queries, from options, recipes and study files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from polyglance.data.dataset import Dataset
from polyglance.data.load import TABLES
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.evaluation.captions import Kinds, choose_captions
from polyglance.evaluation.encoder import Encoder
from polyglance.evaluation.translations.consistency_file import write_weights
from polyglance.evaluation.translations.translated import Translated
from polyglance.translation import make_translator

DATA = "$data"
"""Placeholder in a translator's name for the evaluated dataset."""


@dataclass(frozen=True)
class Translation:
    """How queries are translated.

    None means as in the model's recipe: `Translation()` translates as the recipe says.

    Args:
        translator: such as "captions:$data" or "lexicon:FILE"; $data is the evaluated dataset.
        targets: the languages to translate to, by default all of the model.
        consistency: how to combine the scores of several languages: "average" (CLC-A), "learned"
            (CLC-C, trained on the split `learn_on`), or "literal" (CLC-C with all parameters and
            without corrections); None for one language.
        learn_on: a split.
        keep: a model's folder to save the weights in, for search.
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
                "name one language to translate queries to, or how to combine the scores of "
                "several: average or learned"
            )

    def resolve(self, model: Any) -> "Translation | None":
        """These settings, completed from the model's recipe; None for no translation."""
        found, recipe = self, getattr(model, "recipe", None)
        default = None if recipe is None else recipe.translation
        if default is not None:
            if self.targets is None and self.consistency is None:
                found = replace(found, targets=default.to, consistency=default.consistency)
            found = replace(found, translator=self.translator or _harmless(default.translator))
        if found.translator is None:
            if found.targets or found.consistency:
                option = "targets" if found.targets else "consistency"
                raise ArgumentError(f"`{option}` needs a `translator`")
            if found.keep is not None:
                raise ArgumentError("`keep` needs `consistency` learned")
            return None
        if not found.targets and not found.consistency:
            raise ArgumentError("`translator` needs `targets` or `consistency`")
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
        """The model with translated queries, all translated in advance, and notes for the user.

        Args:
            model: to evaluate.
            dataset: to evaluate on.
            split: of the dataset.
            languages: to evaluate, all by default.
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
            raise ArgumentError("`keep` needs `consistency` learned")
        if self.consistency in ("learned", "literal"):
            if split == self.learn_on:
                notes.append(f"the weights are trained and evaluated on the same split, '{split}'")
            sources = [captions.language for captions in chosen]
            literal = self.consistency == "literal"
            translated.learn(dataset, self.learn_on, sources, kinds, show_progress, literal)
            notes += translated.weight_notes()
        if self.keep is not None:
            names = translated.targets, translator.name
            notes.append(f"weights: {write_weights(self.keep, *names, translated.weights)}")
        return translated, notes


def _harmless(translator: str) -> str:
    """Return a translator of a model's recipe if it only uses the data; otherwise an error.

    Others would let an untrusted model send captions to a server, or read files.
    """
    if not re.fullmatch(r"(captions|file):\$data(/\w[\w.-]*)*", translator):
        raise ArgumentError(
            f"the model's recipe translates with '{translator}', which is not used without your "
            "consent: if you trust it, pass it as `translator`"
        )
    return translator


def _located(translator: str, dataset: Dataset) -> str:
    """The translator's name with the dataset's path filled in."""
    if DATA not in translator:
        return translator
    file, place = dataset.file, dataset.root
    if file is not None and file.suffix.lower() in TABLES:
        place = file
    if place is None:
        raise PolyglanceError(
            f"translator '{translator}': the dataset '{dataset.name}' has no file; name one"
        )
    return translator.replace(DATA, str(place))
