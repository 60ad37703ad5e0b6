"""A complete recipe, and checks across its sections."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, model_validator

from polyglance.core.sections import Section
from polyglance.recipes.schema.data import DataRecipe
from polyglance.recipes.schema.embedders import (
    SubwordsEmbedderRecipe,
    TableEmbedderRecipe,
    UniversalEmbedderRecipe,
)
from polyglance.recipes.schema.image import ImageRecipe
from polyglance.recipes.schema.joint import JointRecipe
from polyglance.recipes.schema.losses import (
    AnyLossRecipe,
    CaptioningRecipe,
    ConsensusRecipe,
    MaxHingeRecipe,
    NamingRecipe,
)
from polyglance.recipes.schema.sampling import AugmentRecipe, SamplingRecipe, UnionSampling
from polyglance.recipes.schema.text import SentenceRecipe, TextRecipe
from polyglance.recipes.schema.training import (
    CompatRecipe,
    TrainingRecipe,
    TransferRecipe,
    TranslationRecipe,
)

ONE_VECTOR = (
    "one vector per image, but cross-attention needs several; set image.feature to a grid such as "
    "efficientnet-lite2/grid3, or to imported regions"
)
IN_PIECES = ("pieces", "subwords", "transformer")


class Recipe(Section):
    """A named system, described as data.

    >>> import polyglance
    >>> recipe = polyglance.load_recipe("vsepp", {"loss.margin": 0.1})
    >>> recipe.loss.kind, recipe.loss.margin, recipe.joint.dim
    ('max-hinge', 0.1, 1024)
    """

    name: str = Field(description="name of the recipe")
    paper: str = Field(description="source of the system")
    summary: str = Field(description="one-line summary")
    data: DataRecipe = DataRecipe()
    image: ImageRecipe = ImageRecipe()
    text: TextRecipe = TextRecipe()
    joint: JointRecipe = JointRecipe()
    augment: AugmentRecipe = AugmentRecipe()
    loss: AnyLossRecipe = Field(MaxHingeRecipe(), description="what training minimises")
    captioning: CaptioningRecipe | None = None
    consensus: ConsensusRecipe | None = None
    naming: NamingRecipe | None = None
    sampling: SamplingRecipe = Field(UnionSampling(), description="how batches are assembled")
    transfer: TransferRecipe | None = None
    training: TrainingRecipe = TrainingRecipe()
    compat: CompatRecipe = CompatRecipe()
    translation: TranslationRecipe | None = None

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        for check in (
            _classes,
            _text,
            _sentence,
            _attention,
            _roles,
            _sampling,
            _tuples,
            _images,
            _transfer,
            _augment,
            _captioning,
            _consensus,
            _naming,
            _sets,
            _words,
        ):
            for problem in check(self):
                raise ValueError(problem)
        return self


def _classes(recipe: Recipe) -> Iterator[str]:
    if recipe.image.head.kind == "classes" and not recipe.image.is_global:
        yield (
            f"image.head.kind=classes needs the input of the network's classifier, one vector per "
            f"image, which image.feature={recipe.image.feature} is not; set it to "
            "efficientnet-lite2/global, or choose another head"
        )


def one_vector(part: str, feature: str) -> str:
    """What is wrong with a part of a recipe that needs sets, for a feature that has none.

    Only the data tells whether imported features are sets.
    """
    off = "captioning=null" if part == "captioning" else f"{part}=false"
    return (
        f"{part} needs several vectors per image, but image.feature={feature} has one: set "
        f"image.feature to a grid or to regions, or {off}"
    )


def _sets(recipe: Recipe) -> Iterator[str]:
    if not recipe.image.is_global:
        return
    if recipe.image.attention:
        yield one_vector("image.attention", recipe.image.feature)
    if recipe.captioning is not None:
        yield one_vector("captioning", recipe.image.feature)


def _words(recipe: Recipe) -> Iterator[str]:
    embedder = recipe.text.embedder
    if not isinstance(embedder, UniversalEmbedderRecipe) or embedder.frequent != 0:
        return
    if recipe.text.towers == "per-language":
        yield (
            "text.towers=per-language shares no words, but with text.embedder.frequent=0 no "
            "language has words of its own: set text.embedder.frequent above 0"
        )
    if recipe.compat.padded_average and embedder.rare.kind != "dictionary":
        yield (
            "compat.padded_average needs words of their own in every language: set "
            "text.embedder.frequent above 0"
        )


def _text(recipe: Recipe) -> Iterator[str]:
    text, kind = recipe.text, recipe.text.embedder.kind
    if (text.encoder.kind == "transformer") != (kind == "pieces"):
        yield (
            "text.encoder.kind=transformer and text.embedder.kind=pieces go together: the encoder "
            "has its own word vectors"
        )
    if text.encoder.kind == "transformer":
        if text.projection or text.word_dropout:
            yield "a transformer has neither text.projection nor text.word_dropout: remove them"
    elif text.encoder.kind == "sentence":
        pass
    elif not text.projection and text.encoder.dim != recipe.joint.dim:
        yield (
            f"the text tower's dimension is {text.encoder.dim} and joint.dim is "
            f"{recipe.joint.dim}; make them equal or set text.projection=true"
        )
    if text.towers == "per-language" and kind in (*IN_PIECES, "vectors"):
        yield f"text.embedder.kind={kind} has one tower for all languages: set text.towers=shared"
    embedder = text.embedder
    shares = isinstance(embedder, UniversalEmbedderRecipe) and embedder.rare.kind != "drop"
    if shares and text.towers == "per-language":
        yield "text.towers=per-language shares no words: set text.embedder.rare.kind=drop"


def _sentence(recipe: Recipe) -> Iterator[str]:
    text, embedder = recipe.text, recipe.text.embedder
    pieces = isinstance(embedder, SubwordsEmbedderRecipe) and embedder.pieces
    if not isinstance(text.encoder, SentenceRecipe):
        if pieces:
            yield "text.embedder.pieces=true needs text.encoder.kind=sentence"
        return
    if not pieces:
        yield (
            "text.encoder.kind=sentence reads pieces: set text.embedder.kind=subwords and "
            "text.embedder.pieces=true"
        )
    if text.projection or (text.pooling, text.dropout_by) != ("last", "word"):
        yield (
            "a sentence encoder pools and has its own linear layers: leave text.projection, "
            "text.pooling and text.dropout_by at their defaults (false, last, word)"
        )
    if recipe.joint.attends:
        yield "a sentence encoder has one vector per text, but cross-attention needs several"
    if recipe.augment.word_drop:
        yield "a sentence encoder uses text.encoder.subword_drop: set augment.word_drop=0"
    hashed = isinstance(embedder, SubwordsEmbedderRecipe) and embedder.buckets > 0
    if not hashed and (text.word_dropout or text.encoder.subword_drop):
        yield (
            "text.word_dropout and text.encoder.subword_drop are for hashed subwords, but "
            "text.embedder.buckets=0 has none"
        )


def _attention(recipe: Recipe) -> Iterator[str]:
    if not recipe.joint.attends:
        return
    where = f"joint.similarity.kind={recipe.joint.similarity.kind}"
    pools = (recipe.image.pooling, recipe.text.pooling)
    if recipe.joint.similarity.kind != "hgr" and pools != ("mean", "last"):
        yield (
            f"{where} uses no pooling: leave image.pooling and text.pooling at their defaults "
            "(mean, last)"
        )
    feature = recipe.image.feature
    if recipe.image.is_global:
        yield f"image.feature={feature}: {ONE_VECTOR}"


def _roles(recipe: Recipe) -> Iterator[str]:
    roles, hgr = recipe.text.embedder.kind == "roles", recipe.joint.similarity.kind == "hgr"
    if roles != hgr:
        yield "joint.similarity.kind=hgr and text.embedder.kind=roles go together"
    if not roles:
        return
    embedder = recipe.text.embedder
    assert isinstance(embedder, TableEmbedderRecipe)
    if embedder.ends or recipe.text.towers != "shared" or recipe.text.projection:
        yield (
            "joint.similarity.kind=hgr has one tower without ends and projection: set "
            "text.embedder.ends=false, text.towers=shared and text.projection=false"
        )
    if recipe.augment.word_drop:
        yield "joint.similarity.kind=hgr needs all words of the graphs: set augment.word_drop=0"
    if recipe.transfer is not None or recipe.sampling.kind != "union":
        yield "joint.similarity.kind=hgr needs sampling.kind=union, and no transfer"


def _sampling(recipe: Recipe) -> Iterator[str]:
    sampling = recipe.sampling
    if recipe.text.towers == "per-language" and sampling.kind == "union":
        yield (
            "text.towers=per-language needs batches of one language: "
            "set sampling.kind=languages or joint"
        )
    if sampling.kind in ("languages", "joint"):
        share = sampling.c2c if sampling.kind == "languages" else sampling.c2c_weight
        name = "sampling.c2c" if sampling.kind == "languages" else "sampling.c2c_weight"
        if sampling.text_only and not share:
            yield f"sampling.text_only needs {name} above 0, as it has no images"


def _tuples(recipe: Recipe) -> Iterator[str]:
    if recipe.sampling.kind != "tuples":
        return
    if recipe.loss.kind != "triplets":
        yield "sampling.kind=tuples needs loss.kind=triplets"
    if recipe.joint.similarity.kind != "cosine":
        yield "sampling.kind=tuples needs joint.similarity.kind=cosine"
    if recipe.text.embedder.kind in IN_PIECES:
        yield "sampling.kind=tuples needs an embedder of words, not a transformer or subwords"
    if recipe.augment.word_drop:
        yield "sampling.kind=tuples masks words itself: use sampling.masking_weight"


def _images(recipe: Recipe) -> Iterator[str]:
    if recipe.sampling.kind != "images":
        return
    if recipe.text.towers != "shared":
        yield "sampling.kind=images mixes languages: set text.towers=shared"
    if recipe.joint.attends or recipe.captioning is not None or recipe.consensus is not None:
        yield (
            "sampling.kind=images compares one vector per image with one per text: remove "
            "captioning and consensus, and set joint.similarity.kind to cosine or order"
        )
    if recipe.loss.kind == "triplets":
        yield "sampling.kind=images needs a loss on score matrices, which triplets is not"


def _transfer(recipe: Recipe) -> Iterator[str]:
    fixed = recipe.text.embedder.kind == "vectors"
    if recipe.data.images == 0 and recipe.transfer is None and not fixed:
        yield "data.images=0 trains nothing: set transfer.source"
    if recipe.transfer is None:
        return
    if recipe.transfer.tune and recipe.transfer.keep:
        yield "transfer.tune trains everything, transfer.keep only new words: set one of them"
    if not recipe.transfer.tune and not recipe.transfer.keep and not fixed:
        yield (
            "transfer.source: only fixed vectors (text.embedder.kind=vectors) can be replaced; to "
            f"extend a model of embedder '{recipe.text.embedder.kind}', set transfer.keep=true"
        )


def _augment(recipe: Recipe) -> Iterator[str]:
    if recipe.augment.mask_share + recipe.augment.replace_share > 1:
        yield "the sum of augment.mask_share and replace_share must not exceed 1"


def _captioning(recipe: Recipe) -> Iterator[str]:
    if recipe.captioning is None:
        return
    embedder = recipe.text.embedder
    table = isinstance(embedder, TableEmbedderRecipe) and embedder.ends
    if not table or recipe.text.towers != "shared":
        yield (
            "captioning generates words of one table, from <start> to <end>: set "
            "text.embedder.kind=table, text.embedder.ends=true and text.towers=shared"
        )
    if recipe.sampling.kind == "tuples" or recipe.joint.attends:
        yield "captioning cannot be combined with sampling.kind=tuples or cross-attention"


def _consensus(recipe: Recipe) -> Iterator[str]:
    if recipe.consensus is None:
        return
    if recipe.text.embedder.kind != "table" or recipe.text.towers != "shared":
        yield (
            "consensus needs the concepts of one table of words: set text.embedder.kind=table and "
            "text.towers=shared"
        )
    if recipe.sampling.kind != "union" or recipe.captioning is not None:
        yield "consensus has its own loss: set sampling.kind=union and captioning=null"
    if recipe.joint.similarity.kind != "cosine" or recipe.compat.no_imgnorm:
        yield "consensus uses cosines: set joint.similarity.kind=cosine"
    if recipe.transfer is not None:
        yield "consensus uses the concepts of its own training captions: remove transfer"


def _naming(recipe: Recipe) -> Iterator[str]:
    if recipe.naming is None:
        return
    if recipe.image.head.kind != "classes":
        yield "naming needs class vectors: set image.head.kind=classes, or naming=null"
    if recipe.text.towers != "shared" or recipe.sampling.kind == "tuples":
        yield "naming mixes languages: set text.towers=shared, and sampling.kind not to tuples"
    if recipe.joint.similarity.kind != "cosine" or recipe.consensus is not None:
        yield "naming uses cosines: set joint.similarity.kind=cosine and consensus=null"
