"""What a recipe may say. A system of a paper is a recipe: data, not code."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """A section of a recipe: unknown fields are errors, values never change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataRecipe(Part):
    """Which captions to train on."""

    languages: list[str] | None = Field(None, description="codes; null is all of the dataset")
    kinds: list[str] | None = Field(None, description="caption kinds; null is all")
    train_split: str = "train"
    validation_split: str = "val"


class ImageRecipe(Part):
    """The image tower: precomputed features → joint space."""

    feature: str = "efficientnet-lite2/global"
    standardise: bool = Field(False, description="centre and scale features by training statistics")
    head: Literal["linear", "mlp"] = "linear"
    hidden: int = Field(1024, gt=0, description="hidden units of the mlp head")
    dropout: float = Field(0.0, ge=0, lt=1)
    pooling: str = Field("mean", description="how a set of vectors becomes one")


class TextRecipe(Part):
    """The text tower: words → vectors → recurrent states → one vector."""

    tokenizer: str = "words"
    threshold: int = Field(4, ge=1, description="a word must occur this often in training")
    scope: Literal["pooled", "per-language"] = "pooled"
    ends: bool = Field(True, description="put <start> and <end> around a caption")
    max_length: int = Field(60, ge=3)
    words: int = Field(300, gt=0, description="size of a word vector")
    word_dropout: float = Field(0.0, ge=0, lt=1)
    encoder: Literal["gru", "bigru"] = "gru"
    hidden: int = Field(1024, gt=0, description="size of a recurrent state, each direction")
    directions: Literal["average", "concatenate"] = "average"
    pooling: str = Field("last", description="how the states become one vector")
    projection: bool = Field(False, description="a linear layer from the pooled state to the space")
    dropout: float = Field(0.0, ge=0, lt=1)


class JointRecipe(Part):
    """The space in which both meet."""

    dim: int = Field(1024, gt=0)
    similarity: Literal["cosine", "order"] = "cosine"


class LossRecipe(Part):
    """The objective on the batch's score matrix."""

    name: str = "max-hinge"
    margin: float = Field(0.2, gt=0)
    reduction: Literal["sum", "mean"] = "sum"
    warmup_epochs: int = Field(0, ge=0, description="epochs of sum-hinge before max-hinge")
    temperature: float = Field(0.06, gt=0, description="initial temperature of infonce")
    learn_temperature: bool = True
    mask_same_image: bool = Field(False, description="captions of one image are not negatives")


class TrainingRecipe(Part):
    """Optimisation and stopping."""

    epochs: int = Field(30, ge=1)
    batch_size: int = Field(128, ge=2)
    optimizer: Literal["adam", "adamw"] = "adam"
    lr: float = Field(2e-4, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    clip: float = Field(2.0, gt=0, description="largest norm of the gradient")
    schedule: Literal["constant", "step", "cosine"] = "constant"
    decay_every: int = Field(15, ge=1, description="epochs between steps of the step schedule")
    decay: float = Field(0.1, gt=0, le=1, description="factor of a step; floor of the cosine")
    warmup_updates: int = Field(0, ge=0, description="updates of linear growth to lr")
    evaluate_every: int | None = Field(None, ge=1, description="updates; null is every epoch")
    patience: int = Field(10, ge=1, description="evaluations without a better rsum before stopping")
    buckets: int = Field(50, ge=1, description="batches sorted by length together; 1 is none")
    drop_last: bool = False
    collapse: Literal["stop", "warn"] = "stop"
    seed: int = Field(0, ge=0)


class Recipe(Part):
    """A named system."""

    name: str
    paper: str
    summary: str
    data: DataRecipe = DataRecipe()
    image: ImageRecipe = ImageRecipe()
    text: TextRecipe = TextRecipe()
    joint: JointRecipe = JointRecipe()
    loss: LossRecipe = LossRecipe()
    training: TrainingRecipe = TrainingRecipe()
