"""The captions that a recipe trains on."""

from typing import Literal

from pydantic import Field

from polyglance.core.sections import Section


class DataRecipe(Section):
    """Which captions to train on, and the data conditions of Kádár et al. 2018, §5–6."""

    languages: list[str] | None = Field(
        None, min_length=1, description="language tags; null for all of the dataset"
    )
    kinds: list[str] | dict[str, list[str]] | None = Field(
        None, description="kinds of captions, for all languages or by language; null for all"
    )
    more: list[str] = Field(
        [],
        description="files with further captions of images of the training split, in the format of "
        "captions.jsonl.gz; rows of other splits are ignored",
    )
    train_split: str = Field("train", description="the split to train on")
    validation_split: str = Field("val", description="the split for early stopping")
    validation_images: int | None = Field(
        None, ge=1, description="use only its first images; null for all (VSE++'s code: 1,000)"
    )
    validation_kinds: Literal["best"] | list[str] | dict[str, list[str]] | None = Field(
        None,
        description="kinds of captions for early stopping, for all languages or by language; null "
        "for the kinds in data.kinds that the split has; otherwise, and always with best, a "
        "language's independent captions, or whatever it has",
    )
    complete: list[str] | None = Field(
        None, description="keep only images with captions in all of these languages"
    )
    images: int | float | None = Field(
        None,
        ge=0,
        description="training images, a number or a share; null for all, 0 for no training "
        "(a model of fixed vectors, or the unchanged transfer.source)",
    )
    assignment: Literal["shared", "disjoint"] = Field(
        "shared", description="whether languages caption the same images, or a separate part each"
    )
    captions_per_image: int | None = Field(
        None, ge=1, description="captions per image and language, drawn once; null for all"
    )
