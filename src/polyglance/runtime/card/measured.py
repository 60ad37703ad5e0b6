"""Sections of a model card with measurements: retrieval, names, speed, biases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polyglance.core.languages import language_name
from polyglance.errors import PolyglanceError

SHOWN = {"image_to_text": "image → text", "text_to_image": "text → image"}


def evaluation_lines(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tables of evaluations: recalls of captions, or names of things that find their image."""
    lines: list[str] = []
    for report in reports:
        try:
            lines += [*(_names(report) if "pictures" in report else _recalls(report)), ""]
        except (KeyError, TypeError, AttributeError) as error:
            raise PolyglanceError(
                f"an evaluation of the card is damaged ({error!r}); write it again with "
                "'polyglance evaluate --json'"
            ) from None
    return lines[:-1]


def speed_lines(speed: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A table of time and memory."""
    lines = ["On one core of the machine that measured it.", "", "| | | |", "| --- | --- | ---: |"]
    return [
        *lines,
        *(
            f"| {part} | {name} | {value:,.1f} |"
            for part, values in speed.items()
            for name, value in values.items()
        ),
    ]


def bias_lines(biases: Mapping[str, Any]) -> list[str]:
    """How captions of women and men are told apart, and which neutral texts prefer either."""
    try:
        return list(_biases(biases))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PolyglanceError(
            f"the measured biases of the card are damaged ({error!r}); write them again with "
            "benchmarks/biases.py"
        ) from None


def _recalls(report: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Split `{report['split']}` of `{report['dataset']}`, {report['photographs']:,} images, "
        f"in percent, with 95 % intervals where available:"
    )
    yield ""
    ways = [f"{way} R@{k}" for way in SHOWN.values() for k in (1, 5, 10)]
    yield f"| language | {' | '.join(ways)} | mR |"
    yield f"| --- |{' ---: |' * (len(ways) + 1)}"
    rows = {language_name(code): entry for code, entry in report["languages"].items()}
    rows |= {f"mean ({label})": entry for label, entry in report.get("averages", {}).items()}
    for label, entry in rows.items():
        cells = [f"{entry[way][f'r{k}']:.1f}" for way in SHOWN for k in (1, 5, 10)]
        yield f"| {label} | {' | '.join(cells)} | {_with_interval(entry)} |"


def _with_interval(entry: Mapping[str, Any]) -> str:
    pair = entry.get("intervals", {}).get("mr")
    value = f"{entry['mr']:.1f}"
    return value if pair is None else f"{value} ({pair[0]:.1f}–{pair[1]:.1f})"


def _names(report: Mapping[str, Any]) -> Iterator[str]:
    total = sum(report["pictures"].values())
    yield (
        f"Names of things, split `{report['split']}` of `{report['data']}`, {total:,} images: "
        "percentage of names whose image is among the first ten of its gallery:"
    )
    found = sorted(report["languages"].items(), key=lambda item: -item[1]["found"])
    yield ""
    yield ", ".join(f"{language_name(code)} {one['found']:.1f}" for code, one in found) + "."
    yield ""
    mean = sum(one["found"] for _, one in found) / len(found)
    yield f"Mean of {len(found)} languages: {mean:.1f}."


def _biases(biases: Mapping[str, Any]) -> Iterator[str]:
    counts = biases["pictures"]
    yield (
        f"{counts['women']} images of women and {counts['men']} of men, by their captions. How "
        "often a caption scores higher than the same caption with the gender swapped:"
    )
    yield ""
    yield "| captions that say | women: captions | % right | men: captions | % right |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, row in biases["swapped"].items():
        cells = []
        for who in ("women", "men"):
            right = row[who]["right"]
            cells += [str(row[who]["captions"]), "–" if right is None else f"{100 * right:.1f}"]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield (
        "Mean score of images of women minus that of men, in standard deviations, for texts "
        "without a gender:"
    )
    yield ""
    texts = sorted(biases["neutral"].items(), key=lambda item: -item[1])
    yield ", ".join(f"{text} {value:+.2f}" for text, value in texts) + "."
    yield ""
    yield "Skin tone, age and origin are not measured: the data does not state them."
