"""For the model card: languages with captions, and those with only sentences or names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from polyglance.core.languages import language_name, main_language
from polyglance.data.load import load_dataset
from polyglance.data.text_only import FILE
from polyglance.recipes import Recipe
from polyglance.recipes.schema import ImageSampling
from polyglance.storage.files import has_file, read_jsonl

NAME = "name"
"""Kind of captions that are words from a lexicon."""
KINDS = {
    "captions": "With captions of images",
    "sentences": "With sentences but no captions",
    "names": "With names of things only",
}


Counts = dict[str, dict[str, int]]
"""Kind of text → language → number of texts."""


def count_languages(recipe: Recipe, data: Path) -> tuple[Counts, list[str]]:
    """Numbers of training texts, and the files that are not there to be counted.

    Different tags of a language are one: Swahili for `sw` and `swh`.

    Args:
        recipe: of the model.
        data: the dataset that it was trained on; files named in the recipe are looked up in its
            parent folder.
    """
    counts, missing = dict[str, Counter[str]](), list[str]()
    names: Counter[str] = Counter()
    for kind, files in _files(recipe, data).items():
        found: Counter[str] = Counter()
        for path in files:
            if path == data:
                part = load_dataset(path).split(recipe.data.train_split)
                found.update(part.captions(part.languages).languages)
            elif has_file(path):
                _count(path, found, names)
            else:
                missing.append(path.relative_to(data.parent).as_posix())
        counts[kind] = found
    counts["names"].update(names)
    return {kind: dict(_merged(found)) for kind, found in counts.items()}, missing


def listed_languages(
    recipe: Recipe, languages: Iterable[str], counts: Counts, missing: Sequence[str] = ()
) -> list[str]:
    """Lines of a card about languages, by kind of training text, with the number of texts.

    Args:
        recipe: of the model.
        languages: trained on or added, listed if nothing was counted.
        counts: of `count_languages`; empty if unknown.
        missing: files that were not counted.
    """
    if not counts:
        return _plain(recipe, sorted({main_language(code) for code in languages}))
    lines, before = [], set[str]()
    for kind, found in counts.items():
        if own := sorted(found.keys() - before):
            shown = ", ".join(f"{language_name(code)} (`{code}`, {found[code]:,})" for code in own)
            lines += [f"{KINDS.get(kind, kind)}, {len(own)}: {shown}.", ""]
        before |= found.keys()
    if missing:
        lines += [
            f"Not counted, as they were not found next to the data: {', '.join(missing)}.",
            "",
        ]
    return lines[:-1]


def _merged(found: Mapping[str, int]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for code, count in found.items():
        if not count:
            continue
        merged[main_language(code)] += count
    return merged


def _plain(recipe: Recipe, languages: list[str]) -> list[str]:
    if not languages:
        return ["None are recorded."]
    named = ", ".join(f"{language_name(code)} (`{code}`)" for code in languages)
    lines = [f"{len(languages)}: {named}."]
    sampling = recipe.sampling
    more = isinstance(sampling, ImageSampling) and (sampling.reads_texts or sampling.beside)
    if more or recipe.naming is not None:
        lines += [
            "",
            "In some of them it was trained only on sentences without images or on names of "
            "things; `polyglance card --data DATA` lists which.",
        ]
    return lines


def _files(recipe: Recipe, data: Path) -> dict[str, list[Path]]:
    """Training files, by kind of text.

    Only the file names of the recipe's paths are used: an untrusted model must not choose what is
    read.
    """
    beside, sampling = data.parent, recipe.sampling
    files = {kind: list[Path]() for kind in KINDS}
    files["captions"] = [data, *(beside / Path(name).name for name in recipe.data.more)]
    if isinstance(sampling, ImageSampling):
        files["sentences"] = [data / FILE] if sampling.text_only else []
        files["sentences"] += [beside / Path(name).name for name in sampling.text_files]
        if sampling.beside is not None:
            files["names"].append(beside / Path(sampling.beside.data).name / "captions.jsonl.gz")
    if recipe.naming is not None:
        files["names"].append(beside / Path(recipe.naming.concepts).name)
    return files


def _count(path: Path, found: Counter[str], names: Counter[str]) -> None:
    """Count the texts of a file by language; of rows that have a split, only training rows.

    Args:
        path: of the file.
        found: counts of texts.
        names: counts of words from a lexicon (`polyglance data words`), which are no sentences.
    """
    for _, row in read_jsonl(path):
        if not isinstance(row, dict) or row.get("split", "train") != "train":
            continue
        for code, kinds in row.get("captions", {}).items():
            found[code] += sum(len(own) for kind, own in kinds.items() if kind != NAME)
            names[code] += len(kinds.get(NAME, ()))
        for code, names in row.get("names", {}).items():
            found[code] += len(names)
