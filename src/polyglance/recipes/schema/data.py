"""Which captions a recipe trains on."""

from typing import Literal

from pydantic import Field

from polyglance.core.sections import Section


class DataRecipe(Section):
    """Which captions to train on, and the data conditions of Kádár et al. 2018, §5–6."""

    languages: list[str] | None = Field(
        None, min_length=1, description="language tags; null is all of the dataset"
    )
    kinds: list[str] | dict[str, list[str]] | None = Field(
        None, description="kinds of captions, for all languages or by language; null is all"
    )
    more: list[str] = Field(
        [],
        description="files of further captions, in the form of captions.jsonl.gz, of images of "
        "the training split; their rows of other splits are not read",
    )
    train_split: str = Field("train", description="the split to train on")
    validation_split: str = Field("val", description="the split that early stopping evaluates on")
    validation_images: int | None = Field(
        None, ge=1, description="images of it, from the first; null is all (VSE++'s code: 1,000)"
    )
    validation_kinds: Literal["best"] | list[str] | dict[str, list[str]] | None = Field(
        None,
        description="kinds that early stopping evaluates on, for all languages or by language; "
        "null is the kinds trained on where they are said and the split has them, else, as best "
        "always, a language's independent captions, or what there is",
    )
    complete: list[str] | None = Field(
        None, description="keep images with captions in all of these languages"
    )
    images: int | float | None = Field(
        None,
        ge=0,
        description="training images, a number or a share; null is all, 0 trains nothing "
        "(a model of fixed vectors, or from a transfer.source, as it starts)",
    )
    assignment: Literal["shared", "disjoint"] = Field(
        "shared", description="do languages caption the same images, or each its own part"
    )
    captions_per_image: int | None = Field(
        None, ge=1, description="captions per image and language, drawn once; null is all"
    )
