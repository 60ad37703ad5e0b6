"""Sequence-to-sequence models of Hugging Face transformers, from local folders."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from polyglance.core.languages import find_tag
from polyglance.core.packages import SAFELY, import_package, quiet
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import folder_digest
from polyglance.storage.files import refuse_pipes
from polyglance.translation.base import Translator, required_path, translators

LONGEST = 256
"""Maximum length of a translation, in tokens."""

T5_LANGUAGES = {"en": "English", "de": "German", "fr": "French", "ro": "Romanian"}
"""T5's languages, named in its prompt."""

_MARK = re.compile(r"__[a-z]{2,3}__|[a-z]{2,3}_[A-Z]\w+|>>\w+<<|<2\w+>")
"""`__de__` of M2M100, `deu_Latn` of NLLB, `de_DE` of mBART, `>>deu<<` of Marian, `<2de>`."""

T = TypeVar("T")


@translators.register("hf")
class HuggingFaceTranslator(Translator):
    """`hf:FOLDER`: Marian (OPUS-MT), M2M100, NLLB, mBART, MADLAD or T5, already downloaded."""

    batch = 16

    def __init__(self, argument: str) -> None:
        self.folder = required_path(argument, "hf", "the folder of a downloaded model")
        refuse_pipes(self.folder)
        if not (self.folder / "config.json").is_file():
            raise PolyglanceError(
                f"{self.folder}: contains no model; pass the folder of a Hugging Face translation "
                "model with config.json, its weights and its tokenizer"
            )
        import_package("transformers")
        self.name = f"hf:{self.folder.resolve().name}"

    @cached_property
    def identity(self) -> str:
        return f"{self.name}:{folder_digest(self.folder)}"

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        import torch

        tokenizer, network = self.tokenizer, self._network
        prefix, options = generation_options(tokenizer, network.config, source, target, self.folder)
        batch = tokenizer(
            [prefix + text for text in texts], return_tensors="pt", padding=True, truncation=True
        )
        batch.pop("token_type_ids", None)
        with torch.inference_mode():
            found = network.generate(**batch, **options, max_new_tokens=LONGEST)
        return list(tokenizer.batch_decode(found, skip_special_tokens=True))

    @cached_property
    def tokenizer(self) -> Any:
        return load_tokenizer(self.folder)

    @cached_property
    def _network(self) -> Any:
        transformers = import_package("transformers")
        load = transformers.AutoModelForSeq2SeqLM.from_pretrained
        with quiet(transformers.utils.logging):
            network = loading(self.folder, lambda: load(self.folder, **SAFELY))
        return network.float().eval()


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer in a folder."""
    transformers = import_package("transformers")
    load = transformers.AutoTokenizer.from_pretrained
    with quiet(transformers.utils.logging):
        return loading(folder, lambda: load(folder, **SAFELY))


def generation_options(
    tokenizer: Any, config: Any, source: str, target: str, where: Path
) -> tuple[str, dict[str, Any]]:
    """How to select a language pair: a prefix of the text, and options of `generate`.

    Args:
        tokenizer: of the model; its source language is set.
        config: of the model, if any.
        source: language of the texts.
        target: language of the translations.
        where: the model's folder, for errors.
    """
    marks = language_tokens(tokenizer)
    mark = find_language_token(target, marks)
    if mark is not None and mark.startswith((">>", "<2")):  # Marian to many, MADLAD
        return f"{mark} ", {}
    if mark is not None:  # M2M100, NLLB, mBART
        own = find_language_token(source, marks)
        if own is None:
            raise PolyglanceError(f"{where}: the model does not know language '{source}'")
        tokenizer.src_lang = own.strip("_") if own.startswith("__") else own
        return "", {"forced_bos_token_id": tokenizer.convert_tokens_to_ids(mark)}
    if marks:
        raise PolyglanceError(f"{where}: the model does not know language '{target}'")
    if getattr(config, "model_type", "") == "t5":
        for unknown in (one for one in (source, target) if one not in T5_LANGUAGES):
            raise PolyglanceError(f"{where}: T5 does not know language '{unknown}'")
        return f"translate {T5_LANGUAGES[source]} to {T5_LANGUAGES[target]}: ", {}
    return "", {}


def language_tokens(tokenizer: Any) -> list[str]:
    """The language tokens; none if the model has a single language pair."""
    tokens = [*tokenizer.all_special_tokens, *tokenizer.get_vocab()]
    return [token for token in dict.fromkeys(map(str, tokens)) if _MARK.fullmatch(token)]


def find_language_token(language: str, marks: Iterable[str]) -> str | None:
    """The token of a language.

    >>> find_language_token("de", ["__en__", "__de__"])
    '__de__'
    >>> find_language_token("zh", [">>zho_Hant<<", ">>zho_Hans<<"])
    '>>zho_Hans<<'
    """
    by_tag = {mark.strip("_<>").removeprefix("2"): mark for mark in marks}
    found = find_tag(language, by_tag)
    return None if found is None else by_tag[found]


def loading(folder: Path, load: Callable[[], T]) -> T:
    """Call `load`; report any error of a package as one about the folder."""
    try:
        return load()
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{folder}: cannot load the translation model ({reason}); download it again, or "
            "install what it needs"
        ) from None
