"""A whole recipe."""

from typing import Self

from pydantic import Field, model_validator

from polyglance.recipes.schema.checks import check_recipe_sections
from polyglance.recipes.schema.data import DataRecipe
from polyglance.recipes.schema.image import ImageRecipe
from polyglance.recipes.schema.joint import JointRecipe
from polyglance.recipes.schema.losses import AnyLossRecipe, MaxHingeRecipe
from polyglance.recipes.schema.sampling import AugmentRecipe, SamplingRecipe, UnionSampling
from polyglance.recipes.schema.text import TextRecipe
from polyglance.recipes.schema.training import (
    CompatRecipe,
    TrainingRecipe,
    TransferRecipe,
    TranslationRecipe,
)
from polyglance.sections import Section


class Recipe(Section):
    """A named system. A system of a paper is a recipe: data, not code."""

    name: str = Field(description="what the recipe is called")
    paper: str = Field(description="where it comes from")
    summary: str = Field(description="one line")
    data: DataRecipe = DataRecipe()
    image: ImageRecipe = ImageRecipe()
    text: TextRecipe = TextRecipe()
    joint: JointRecipe = JointRecipe()
    augment: AugmentRecipe = AugmentRecipe()
    loss: AnyLossRecipe = Field(MaxHingeRecipe(), description="what training minimises")
    sampling: SamplingRecipe = Field(UnionSampling(), description="how batches are put together")
    transfer: TransferRecipe | None = None
    training: TrainingRecipe = TrainingRecipe()
    compat: CompatRecipe = CompatRecipe()
    translation: TranslationRecipe | None = None

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        check_recipe_sections(self)
        return self
