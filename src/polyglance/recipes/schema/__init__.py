"""What a recipe may say: nested sections, whose variants are told apart by `kind`."""

from polyglance.recipes.schema.data import DataRecipe
from polyglance.recipes.schema.embedders import (
    CharacterEmbedderRecipe,
    CharGruEmbedderRecipe,
    DictionaryRare,
    DropRare,
    EmbedderRecipe,
    LatentRare,
    LiweEmbedderRecipe,
    PiecesEmbedderRecipe,
    TableEmbedderRecipe,
    TransformerEmbedderRecipe,
    UniversalEmbedderRecipe,
    VectorsEmbedderRecipe,
)
from polyglance.recipes.schema.image import (
    BatchNormMlpHead,
    HeadRecipe,
    ImageRecipe,
    LinearHead,
    MlpHead,
    ResidualMlpHead,
)
from polyglance.recipes.schema.joint import (
    CosineRecipe,
    ImramRecipe,
    JointRecipe,
    OrderRecipe,
    ScanRecipe,
    SimilarityRecipe,
)
from polyglance.recipes.schema.losses import (
    InfoNceRecipe,
    LossRecipe,
    MaxHingeRecipe,
    MixedHingeRecipe,
    SumHingeRecipe,
    TripletsRecipe,
)
from polyglance.recipes.schema.recipe import Recipe
from polyglance.recipes.schema.sampling import (
    AugmentRecipe,
    JointSampling,
    LanguageSampling,
    SamplingRecipe,
    TupleSampling,
    UnionSampling,
)
from polyglance.recipes.schema.text import (
    BiGruRecipe,
    EncoderRecipe,
    GruRecipe,
    SelfAttentionRecipe,
    TextRecipe,
    TransformerRecipe,
)
from polyglance.recipes.schema.training import (
    CompatRecipe,
    ConstantSchedule,
    CosineSchedule,
    ScheduleRecipe,
    StepSchedule,
    TrainingRecipe,
    TransferRecipe,
    TranslationRecipe,
)
from polyglance.sections import Section, Variant, kind_of, variants_of

__all__ = [name for name in dir() if name[0].isupper() or name in ("kind_of", "variants_of")]
