"""Names of emoji by language: CLDR's annotations, or the files of the Python package `emoji`."""

from pathlib import Path
from typing import Any

from polyglance.data.emoji.sequences import has_tone, plain
from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_json

Names = dict[str, dict[str, str]]
"""language → emoji → its name"""

CLDR, PACKAGE, PACKAGE_ENGLISH = "annotations.json", "emoji_*.json", "emoji.json"


def read_names(folder: Path, languages: list[str] | None = None) -> Names:
    """The names in a folder of either kind.

    Tags with a region or script, such as de-CH, are read only if listed in `languages`, because
    most of their names are those of the base language.

    Args:
        folder: with CLDR's LANGUAGE/annotations.json, or emoji's emoji_LANGUAGE.json, at any depth.
        languages: to read; None for all.
    """
    found = _cldr(folder) or _package(folder)
    if not found:
        raise PolyglanceError(
            f"{folder}: contains no names of emoji, neither CLDR's LANGUAGE/{CLDR} (npm's "
            f"cldr-annotations-full) nor {PACKAGE} (pip's emoji)"
        )
    if languages is None:
        return {code: names for code, names in sorted(found.items()) if "-" not in code and names}
    for code in languages:
        if not found.get(code):
            raise PolyglanceError(f"{folder}: has no names in language '{code}'")
    return {code: found[code] for code in languages}


def _cldr(folder: Path) -> Names:
    """Unicode's names for screen readers (`tts`), one per emoji."""
    found: Names = {}
    for path in sorted(folder.rglob(CLDR)):
        whole = _object(path, read_json(path), "annotations")
        value = _object(path, whole.get("annotations"), "annotations")
        entries = _object(path, value.get("annotations", {}), "annotations.annotations")
        names = {}
        for sequence, about in entries.items():
            spoken = about.get("tts") if isinstance(about, dict) else None
            if isinstance(spoken, list) and spoken and isinstance(spoken[0], str):
                names[sequence] = spoken[0]
        found[path.parent.name] = _cleaned(names)
    return found


def _package(folder: Path) -> Names:
    """Names such as `:roter_apfel:`; the English ones are in a separate file."""
    found: Names = {}
    for path in sorted(folder.rglob(PACKAGE)):
        value = _object(path, read_json(path), "names")
        found[path.stem.removeprefix("emoji_")] = _cleaned(
            {sequence: _spelt(name) for sequence, name in value.items() if isinstance(name, str)}
        )
        english = path.with_name(PACKAGE_ENGLISH)
        if "en" not in found and english.is_file():
            facts = _object(english, read_json(english), "names")
            names = {
                key: about.get("en") for key, about in facts.items() if isinstance(about, dict)
            }
            found["en"] = _cleaned({k: _spelt(n) for k, n in names.items() if isinstance(n, str)})
    return found


def _spelt(name: str) -> str:
    """
    >>> _spelt(":red_apple:")
    'red apple'
    """
    return name.strip(":").replace("_", " ")


def _cleaned(names: dict[str, str]) -> dict[str, str]:
    """Remove emoji with skin tones, and names without letters."""
    kept = {plain(key): name.strip() for key, name in names.items() if not has_tone(key)}
    return {key: name for key, name in kept.items() if name and any(map(str.isalpha, name))}


def _object(path: Path, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PolyglanceError(f"{path}: not a file of emoji names, it has no object '{what}'")
    return value
