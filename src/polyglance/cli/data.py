"""`polyglance data`: inspect, convert and generate datasets."""

import dataclasses
import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.data.convert import Conversion
    from polyglance.data.info import DatasetReport

data_app = typer.Typer(
    name="data",
    help="Inspect, convert, merge, translate and generate datasets.",
    no_args_is_help=True,
)


class Images(enum.StrEnum):
    """How images are put into a dataset folder."""

    symlink = "symlink"
    link = "link"
    copy = "copy"


@data_app.command()
def info(
    source: Annotated[
        str, typer.Argument(metavar="DIR", help="Dataset folder, table or 'generated'.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Do not decode the images.")] = False,
) -> None:
    """Count captions by split, language and kind; find missing, unreadable and leaked images."""
    from polyglance.data import load_dataset
    from polyglance.data.info import inspect_dataset

    dataset = load_dataset(source)
    report = inspect_dataset(dataset, decode=not fast)
    features = _features(dataset)
    if as_json:
        values = dataclasses.asdict(report) | {"sound": report.sound, "features": features}
        typer.echo(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        _print_report(report, features)
    if report.all_missing and not any(about["images"] for about in features.values()):
        first = dataset.path(dataset.images[0])
        raise PolyglanceError(
            f"{dataset.label}: none of the {len(report.missing)} image files exists (the first: "
            f"{first}); correct the paths, which are relative to {dataset.image_folder}, or put "
            "the images there"
        )


@data_app.command()
def layouts() -> None:
    """List the layouts that `convert` supports, with their options."""
    from rich.console import Console
    from rich.table import Table

    from polyglance.data.convert import CONVERTERS, options_of, summary

    table = Table("layout", "what it reads", "options")
    for name in CONVERTERS:
        converter = CONVERTERS.get(name)
        options = [f"{key}={value}" for key, value in options_of(converter).items()]
        table.add_row(name, summary(converter), "\n".join(options))
    Console().print(table)


@data_app.command()
def convert(
    layout: Annotated[str, typer.Argument(help="A layout listed by 'data layouts'.")],
    source: Annotated[Path, typer.Argument(help="Folder or file in that layout.")],
    out: Annotated[Path, typer.Argument(help="Output dataset folder.")],
    pictures: Annotated[Path | None, typer.Option(help="Folder with the image files.")] = None,
    images: Annotated[Images, typer.Option(help="How to put images into OUT.")] = Images.symlink,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of the layout."),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out images without a file.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Convert an existing dataset again.")
    ] = False,
) -> None:
    """Convert a dataset from its original layout into a dataset folder."""
    from polyglance.data import convert as conversions
    from polyglance.vision.extraction.imported import write_store

    converter = conversions.CONVERTERS.get(layout)
    options = conversions.parse_options(converter, layout, option or ())
    if not source.exists():
        raise PolyglanceError(f"{source}: no such file or folder")
    result = converter(source, pictures, **options)
    if result.images:
        result = conversions.drop_missing(result) if skip_missing else result
        conversions.write_folder(out, result, images.value, force, write_store)
    else:
        for features in result.features:
            result.notes += conversions.write_features(out, features, write_store, force)
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(_summary(out, result))


@data_app.command()
def generate(
    out: Annotated[Path, typer.Argument(help="Output dataset folder.")],
    photos: Annotated[int, typer.Option(min=3, help="Number of images.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Generate a dataset folder of rendered images with captions in ten languages."""
    from polyglance.data.generated import write_generated

    write_generated(out, photos, seed)
    typer.echo(f"{out}: {photos} images")


def _summary(out: Path, result: "Conversion") -> str:
    parts, entries = [], result.images
    if entries:
        captions = sum(len(t) for p in entries for k in p.captions.values() for t in k.values())
        languages = sorted({code for entry in entries for code in entry.captions})
        parts = [
            f"{len(entries)} {result.noun}",
            f"{captions} captions ({', '.join(languages)})",
        ]
        parts += [f"{len(result.sources)} image files"] if result.noun == "images" else []
    parts += [f"features imported/{f.name} of dimension {f.dim}" for f in result.features]
    return f"{out}: {', '.join(parts)}"


def _features(dataset: "Dataset") -> dict[str, dict[str, Any]]:
    """Properties of each imported feature of a dataset."""
    from polyglance.vision.extraction.extract import imported_names, load_features

    found = {}
    for name in imported_names(dataset):
        features = load_features(dataset, name)
        lengths = features.lengths[features.available]
        found[name] = {
            "images": int(features.available.sum()),
            "dimension": features.dim,
            "form": features.form,
            "fewest": int(lengths.min(initial=lengths.max(initial=0))),
            "most": int(lengths.max(initial=0)),
        }
    return found


def _print_report(report: "DatasetReport", features: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("split", "language", "kind", title=f"{report.name} (captions)")
    for heading in ("images", "captions", "per image"):
        table.add_column(heading, justify="right")
    for row in report.counts:
        span = str(row.least) if row.least == row.most else f"{row.least}–{row.most}"
        table.add_row(row.split, row.language, row.kind, str(row.photos), str(row.captions), span)
    console.print(table)
    total = ", ".join(f"{count} {split}" for split, count in report.photos.items())
    console.print(f"images: {total}", markup=False, highlight=False)
    for line in (*_findings(report, features), *_feature_lines(report, features)):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _feature_lines(report: "DatasetReport", features: dict[str, dict[str, Any]]) -> list[str]:
    total = sum(report.photos.values())
    found = []
    for name, about in features.items():
        count = str(about["most"])
        if about["fewest"] < about["most"]:
            count = f"{about['fewest']}–{about['most']}"
        shape = f"{count} vectors of dimension {about['dimension']} each"
        if about["form"] == "global":
            shape = f"a vector of dimension {about['dimension']} each"
        found.append(f"features {name}: {about['images']} of {total}, {shape}")
    return found


def _findings(report: "DatasetReport", features: dict[str, dict[str, Any]]) -> list[str]:
    if not report.has_images:
        instead = ", but imported features" if features else ""
        found = [f"image files: none, the dataset has no images folder{instead}"]
    else:
        found = [_some("missing image files", report.missing)]
        if report.decoded:
            broken = [f"{name} ({why})" for name, why in report.broken.items()]
            found.append(_some("unreadable images", broken))
        else:
            found.append("unreadable images: not checked (--fast)")
    found.append(_some("images in several splits (leakage)", _groups(report.leaked)))
    found.append(_some("images repeated within a split", _groups(report.repeated)))
    found.append(_some("images without captions", report.uncaptioned))
    for split, languages in report.without.items():
        found.append(f"languages without captions in {split}: {', '.join(languages)}")
    if report.shared_captions:
        shared = ", ".join(f"{code} {count}" for code, count in report.shared_captions.items())
        found.append(f"note: captions that occur in several splits: {shared}")
    return found


def _groups(groups: list[dict[str, list[str]]]) -> list[str]:
    return [
        " = ".join(f"{split}/{name}" for split, names in group.items() for name in names)
        for group in groups
    ]


def _some(title: str, items: list[str], most: int = 5) -> str:
    if not items:
        return f"{title}: none"
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{title}: {len(items)}: {'; '.join(items[:most])}{rest}"
