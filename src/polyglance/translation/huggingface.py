"""Sequence-to-sequence models of Hugging Face transformers, from folders on disk."""

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
from polyglance.translation.base import Translator, needed, translators

LONGEST = 256
"""Tokens of a translation."""

T5_LANGUAGES = {"en": "English", "de": "German", "fr": "French", "ro": "Romanian"}
"""What T5 was trained to translate between; it is asked in words."""

_MARK = re.compile(r"__[a-z]{2,3}__|[a-z]{2,3}_[A-Z]\w+|>>\w+<<|<2\w+>")
"""`__de__` of M2M100, `deu_Latn` of NLLB, `de_DE` of mBART, `>>deu<<` of Marian, `<2de>`."""

T = TypeVar("T")


@translators.register("hf")
class HuggingFaceTranslator(Translator):
    """`hf:FOLDER`: Marian (OPUS-MT), M2M100, NLLB, mBART, MADLAD or T5, downloaded before."""

    batch = 16

    def __init__(self, argument: str) -> None:
        self.folder = needed(argument, "hf", "the folder of a downloaded model")
        refuse_pipes(self.folder)
        if not (self.folder / "config.json").is_file():
            raise PolyglanceError(
                f"{self.folder}: no model there; give the folder of a Hugging Face translation "
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
        prefix, options = ask_for(tokenizer, network.config, source, target, self.folder)
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
    """The tokenizer that a folder holds."""
    transformers = import_package("transformers")
    load = transformers.AutoTokenizer.from_pretrained
    with quiet(transformers.utils.logging):
        return loading(folder, lambda: load(folder, **SAFELY))


def ask_for(
    tokenizer: Any, config: Any, source: str, target: str, where: Path
) -> tuple[str, dict[str, Any]]:
    """How to ask a model for a pair of languages: a prefix of the text, and options of `generate`.

    Args:
        tokenizer: of the model.
        config: of the model, if it has one.
        source: language of the texts.
        target: language of the translations.
        where: the model's folder, for messages.
    """
    marks = language_marks(tokenizer)
    mark = find_mark(target, marks)
    if mark is not None and mark.startswith((">>", "<2")):  # Marian to many, MADLAD
        return f"{mark} ", {}
    if mark is not None:  # M2M100, NLLB, mBART
        own = find_mark(source, marks)
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


def language_marks(tokenizer: Any) -> list[str]:
    """The tokens that name languages; none where a model has one pair of languages."""
    tokens = [*tokenizer.all_special_tokens, *tokenizer.get_vocab()]
    return [token for token in dict.fromkeys(map(str, tokens)) if _MARK.fullmatch(token)]


def find_mark(language: str, marks: Iterable[str]) -> str | None:
    """The token that names a language.

    >>> find_mark("de", ["__en__", "__de__"]), find_mark("zh", [">>zho_Hant<<", ">>zho_Hans<<"])
    ('__de__', '>>zho_Hans<<')
    """
    by_tag = {mark.strip("_<>").removeprefix("2"): mark for mark in marks}
    found = find_tag(language, by_tag)
    return None if found is None else by_tag[found]


def loading(folder: Path, load: Callable[[], T]) -> T:
    """Whatever goes wrong inside a package while loading is about the folder's files."""
    try:
        return load()
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{folder}: cannot load the translation model ({reason}); download it again, or "
            "install what it needs"
        ) from None
