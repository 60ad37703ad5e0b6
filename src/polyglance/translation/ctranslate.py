"""CTranslate2 models on disk, and packages of Argos Translate."""

from functools import cached_property, partial
from pathlib import Path
from typing import Any

from polyglance.core.packages import import_package
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import folder_digest
from polyglance.translation.base import Translator, required_path, translators
from polyglance.translation.huggingface import LONGEST, generation_options, load_tokenizer, loading

Pieces = list[list[str]]


@translators.register("ctranslate2")
class CTranslate2Translator(Translator):
    """`ctranslate2:FOLDER`: a converted model (`model.bin`) with its tokenizer beside it.

    The tokenizer is `source.spm` and `target.spm` (OPUS-MT), `sentencepiece.model` (OpenNMT, Argos)
    or a Hugging Face tokenizer (`tokenizer_config.json`), possibly multilingual.
    """

    def __init__(self, argument: str) -> None:
        self.folder = required_path(argument, "ctranslate2", "the folder of a converted model")
        if not (self.folder / "model.bin").is_file():
            raise PolyglanceError(
                f"{self.folder}: there is no model.bin; pass the folder of a CTranslate2 model"
            )
        self._package = import_package("ctranslate2")
        self.name = f"ctranslate2:{self.folder.resolve().name}"

    @cached_property
    def identity(self) -> str:
        return f"{self.name}:{folder_digest(self.folder)}"

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        tokens, prefix = self._tokenizer.split(texts, source, target)
        lead = [prefix] * len(texts) if prefix else None
        results = self._network.translate_batch(
            tokens, target_prefix=lead, max_decoding_length=LONGEST
        )
        best = [result.hypotheses[0][len(prefix) :] for result in results]
        return list(self._tokenizer.join(best))

    @cached_property
    def _network(self) -> Any:
        make = self._package.Translator
        return loading(self.folder, lambda: make(str(self.folder), device="cpu"))

    @cached_property
    def _tokenizer(self) -> "_Spm | _Fast":
        pairs = {("source.spm", "target.spm"): ["</s>"], ("sentencepiece.model",) * 2: []}
        for names, end in pairs.items():
            if all((self.folder / name).is_file() for name in names):
                return _Spm([self.folder / name for name in names], end)
        if (self.folder / "tokenizer_config.json").is_file():
            return _Fast(self.folder)
        raise PolyglanceError(
            f"{self.folder}: the model has no tokenizer (source.spm and target.spm, "
            "sentencepiece.model, or tokenizer_config.json); copy it there"
        )


class _Spm:
    """SentencePiece models of one language pair."""

    def __init__(self, files: list[Path], end: list[str]) -> None:
        package = import_package("sentencepiece")
        self._source, self._target = (
            loading(path, partial(package.SentencePieceProcessor, model_file=str(path)))
            for path in files
        )
        self._end = end

    def split(self, texts: list[str], source: str, target: str) -> tuple[Pieces, list[str]]:
        return [[*self._source.encode(text, out_type=str), *self._end] for text in texts], []

    def join(self, pieces: Pieces) -> list[str]:
        return [self._target.decode(part) for part in pieces]


class _Fast:
    """A tokenizer of transformers, with its language codes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._tool = folder, load_tokenizer(folder)

    def split(self, texts: list[str], source: str, target: str) -> tuple[Pieces, list[str]]:
        prefix, options = generation_options(self._tool, None, source, target, self._folder)
        ids = [self._tool.encode(prefix + text) for text in texts]
        first = options.get("forced_bos_token_id")
        lead = [] if first is None else [self._tool.convert_ids_to_tokens(first)]
        return [self._tool.convert_ids_to_tokens(one) for one in ids], lead

    def join(self, pieces: Pieces) -> list[str]:
        ids = [self._tool.convert_tokens_to_ids(part) for part in pieces]
        return list(self._tool.batch_decode(ids, skip_special_tokens=True))


@translators.register("argos")
class ArgosTranslator(Translator):
    """`argos`: the installed packages of Argos Translate, via English if necessary."""

    name = "argos"

    def __init__(self, argument: str) -> None:
        if argument:
            raise PolyglanceError("translator 'argos' uses installed packages; write just argos")
        self._package = import_package("argostranslate", "argostranslate.package")
        self._translate = import_package("argostranslate", "argostranslate.translate")

    @cached_property
    def identity(self) -> str:
        packages = self._package.get_installed_packages()
        versions = sorted(f"{p.from_code}-{p.to_code}-{p.package_version}" for p in packages)
        return f"argos:{','.join(versions)}"

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        languages = {one.code: one for one in self._translate.get_installed_languages()}
        pair = [languages.get(source), languages.get(target)]
        tool = pair[0].get_translation(pair[1]) if pair[0] and pair[1] else None
        if tool is None:
            raise PolyglanceError(
                f"argos: no package from '{source}' to '{target}' is installed; run "
                f"'argospm install translate-{source}_{target}'"
            )
        return [tool.translate(text) for text in texts]
