"""When the fields of a recipe have an effect, beyond what the kind of their section says."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyglance.recipes.schema.sampling import masks_words

SETS = "set image.feature to a grid such as efficientnet-lite2/grid3, or to imported regions"
BY_LANGUAGE = "set sampling.kind to languages or joint"


@dataclass(frozen=True)
class Rule:
    """Fields that have an effect in some recipes only.

    Args:
        fields: their paths, with the kinds of sections: text.embedder[universal].lexicon.
        works: whether they have an effect in a recipe, whose sections are of these kinds.
        why: they do nothing in other recipes.
        instead: what to change so that they do something.
    """

    fields: tuple[str, ...]
    works: Callable[[Any], bool]
    why: str
    instead: str


def _rule(section: str, names: str, works: Callable[[Any], bool], why: str, instead: str) -> Rule:
    """A rule about fields of one section.

    Args:
        section: its path; kinds with the same rule are separated by commas.
        names: of the fields, separated by spaces.
        works: as in `Rule`.
        why: as in `Rule`.
        instead: as in `Rule`.
    """
    paths = [f"{one}.{name}" for one in _each_kind(section) for name in names.split()]
    return Rule(tuple(paths), works, why, instead)


def _each_kind(path: str) -> list[str]:
    """A path for each of the kinds in it: a[b,c] → a[b], a[c]."""
    several = re.search(r"\[([^]]*,[^]]*)\]", path)
    if several is None:
        return [path]
    before, after = path[: several.start()], path[several.end() :]
    return [one for kind in several[1].split(",") for one in _each_kind(f"{before}[{kind}]{after}")]


def _has_ends(recipe: Any) -> bool:
    """Whether <start> and <end>, or a transformer's [CLS] and [SEP], are tokens of their own."""
    embedder = recipe.text.embedder
    if embedder.kind == "table":
        return bool(embedder.ends)
    return embedder.kind in ("pieces", "transformer")


def _reads_lexicon(recipe: Any) -> bool:
    """Whether universal words need a lexicon, or report with it how they share latent tokens."""
    embedder = recipe.text.embedder
    trains = embedder.vectors is None and embedder.corpus == "lexicon"
    return trains or embedder.rare.kind in ("dictionary", "latent")


def _ranks_captions(recipe: Any) -> bool:
    """Whether captions are ranked against captions."""
    sampling = recipe.sampling
    if sampling.kind == "images":
        return sampling.reads_texts or (sampling.captions > 1 and sampling.c2c_weight > 0)
    return (getattr(sampling, "c2c", 0) or getattr(sampling, "c2c_weight", 0)) > 0


def _adds_words(recipe: Any) -> bool:
    """Whether a transfer makes words of a new language from those of the source."""
    return bool(recipe.text.embedder.kind != "vectors")


def _translates(recipe: Any) -> bool:
    """Whether a transfer reads a dictionary."""
    return _adds_words(recipe) or recipe.transfer.translator == "aligned"


def _aligns(recipe: Any) -> bool:
    """Whether a transfer aligns word vectors."""
    if _adds_words(recipe):
        return recipe.transfer.vectors is not None
    return bool(recipe.transfer.translator == "aligned")


def _by_language(recipe: Any) -> bool:
    return recipe.sampling.kind in ("languages", "joint")


def _tuples(recipe: Any) -> bool:
    return bool(recipe.sampling.kind == "tuples")


IMAGE = (
    _rule(
        "image",
        "pooling normalise",
        lambda r: not r.image.is_global,
        "image.feature is one vector per image, so there is no set to pool",
        SETS,
    ),
    _rule(
        "image",
        "normalise",
        lambda r: r.joint.similarity.kind not in ("scan", "imram"),
        "cross-attention scales all vectors to length 1",
        "use another joint.similarity.kind",
    ),
    _rule(
        "image.head[classes]",
        "lexicon",
        lambda r: r.image.head.start == "names",
        "class vectors start at random",
        "set image.head.start=names",
    ),
    _rule(
        "image.backbone",
        "depthwise frozen_epochs keep multiplier lower_multiplier stage_epochs",
        lambda r: r.image.backbone.train != "none",
        "with image.backbone.train=none, the network is not trained",
        "set image.backbone.train to last or all",
    ),
    _rule(
        "image.backbone",
        "lower_multiplier stage_epochs",
        lambda r: r.image.backbone.train != "last",
        "with image.backbone.train=last, only the last stage is trained",
        "set image.backbone.train=all",
    ),
    _rule(
        "image.backbone",
        "crop",
        lambda r: not r.image.backbone.squash,
        "with image.backbone.squash=true, evaluation uses the whole image",
        "set image.backbone.squash=false",
    ),
    _rule(
        "image.backbone",
        "smallest_crop flip",
        lambda r: (
            r.image.backbone.views is None or r.image.backbone.views > 1 + r.image.backbone.whole
        ),
        "all image.backbone.views are those of evaluation, and none is a random crop",
        "increase image.backbone.views",
    ),
)

TEXT = (
    _rule(
        "text",
        "tokenizer",
        lambda r: r.text.embedder.kind != "subwords",
        "text.embedder.kind=subwords reads texts as written",
        "use another embedder",
    ),
    _rule(
        "text",
        "dropout_by",
        lambda r: r.text.word_dropout > 0,
        "text.word_dropout=0 drops nothing",
        "set text.word_dropout above 0",
    ),
    _rule(
        "text.embedder[table]",
        "scope",
        lambda r: r.text.towers == "shared",
        "with text.towers=per-language, every language counts its own words",
        "set text.towers=shared",
    ),
    _rule(
        "text.embedder[liwe,chargru]",
        "min_count",
        lambda r: r.text.embedder.alphabet == "data",
        "text.embedder.alphabet=lavse has a fixed set of characters",
        "set text.embedder.alphabet=data",
    ),
    _rule(
        "text.embedder[subwords]",
        "ngram word_dim",
        lambda r: r.text.embedder.buckets != 0,
        "text.embedder.buckets=0 has no hashed subwords",
        "set text.embedder.buckets above 0",
    ),
    _rule(
        "text.embedder[universal]",
        "corpus vector_dim",
        lambda r: r.text.embedder.vectors is None,
        "no word vectors are trained, because text.embedder.vectors names files with them",
        "set text.embedder.vectors=null",
    ),
    _rule(
        "text.embedder[vectors]",
        "trained",
        lambda r: r.text.embedder.vectors is None,
        "no word vectors are trained, because text.embedder.vectors names files with them",
        "set text.embedder.vectors=null",
    ),
    _rule(
        "text.embedder[universal]",
        "lexicon",
        _reads_lexicon,
        "neither the corpus of the word vectors nor the treatment of rare words needs a lexicon",
        "set text.embedder.corpus=lexicon (with vectors=null), or text.embedder.rare.kind to "
        "dictionary or latent",
    ),
    _rule(
        "text.embedder[universal]",
        "frequent_count",
        lambda r: r.text.embedder.frequent != 0,
        "with text.embedder.frequent=0, all words are rare",
        "set text.embedder.frequent above 0, or to null",
    ),
    _rule(
        "text.embedder[universal]",
        "stored",
        lambda r: r.transfer is not None,
        "only models written by 'polyglance compact' have stored vectors, and models that start "
        "from one",
        "train without it, then use 'polyglance compact'",
    ),
    _rule(
        "text.embedder[vectors]",
        "copy_subwords",
        lambda r: r.text.embedder.vectors is not None or r.text.embedder.trained == "skipgram",
        "co-occurrence vectors are of whole words, without subwords to copy",
        "set text.embedder.vectors to a folder of CODE.bin, or text.embedder.trained=skipgram",
    ),
    _rule(
        "text.embedder[universal].rare[latent].assignment[paper,aligned]",
        "epochs",
        lambda r: r.text.embedder.rare.assignment.updates is None,
        "text.embedder.rare.assignment.updates is set, which counts instead",
        "set text.embedder.rare.assignment.updates=null",
    ),
    _rule(
        "text.embedder[universal].rare[latent].assignment[paper,aligned]",
        "candidates",
        lambda r: r.text.embedder.rare.assignment.explore or r.text.embedder.rare.assignment.soft,
        "only a word's best token counts if neither explore nor soft is above 0",
        "set text.embedder.rare.assignment.explore above 0",
    ),
    _rule(
        "text.encoder[sentence]",
        "cached",
        lambda r: r.text.encoder.train != "all",
        "with text.encoder.train=all, no layer is frozen whose output could be kept",
        "set text.encoder.train to top or none",
    ),
)

AUGMENT = (
    _rule(
        "augment",
        "vector_drop varying",
        lambda r: not r.image.is_global,
        "image.feature is one vector per image, so there is none to drop",
        SETS,
    ),
    _rule(
        "augment",
        "varying",
        lambda r: r.augment.vector_drop > 0,
        "augment.vector_drop=0 drops no vector",
        "set augment.vector_drop above 0",
    ),
    _rule(
        "augment",
        "mask_share replace_share include_ends",
        lambda r: r.augment.word_drop > 0,
        "augment.word_drop=0 selects no word",
        "set augment.word_drop above 0",
    ),
    _rule(
        "augment",
        "include_ends",
        _has_ends,
        "the embedder puts no <start> and <end> around a caption",
        "set text.embedder.kind=table and text.embedder.ends=true",
    ),
)

LOSS = (
    _rule(
        "loss[triplets]",
        "mask_same_image",
        lambda r: not _tuples(r),
        "with sampling.kind=tuples, captions of one image are never negatives",
        "use another sampling.kind",
    ),
    _rule(
        "loss[mixed-hinge]",
        "epsilon_c2c",
        _ranks_captions,
        "captions are not ranked against captions",
        "set sampling.kind=joint and sampling.c2c_weight above 0",
    ),
)

SAMPLING = (
    _rule(
        "sampling[tuples]",
        "mask_share",
        lambda r: masks_words(r.sampling),
        "no caption is masked",
        "set sampling.masking_weight above 0",
    ),
    _rule(
        "sampling[tuples]",
        "detach masking_reduction",
        lambda r: r.sampling.masking_weight > 0,
        "sampling.masking_weight=0 leaves out masked modelling",
        "set sampling.masking_weight above 0",
    ),
    _rule(
        "sampling[tuples]",
        "masked_matching",
        lambda r: r.sampling.masking_weight > 0 or r.sampling.always_mask,
        "no caption is masked",
        "set sampling.masking_weight above 0",
    ),
    _rule(
        "sampling[tuples]",
        "always_mask",
        lambda r: r.sampling.masked_matching,
        "sampling.masked_matching=false does not match masked captions with images",
        "set sampling.masked_matching=true",
    ),
    _rule(
        "sampling[images]",
        "text_pairs text_weight text_pivot",
        lambda r: r.sampling.reads_texts,
        "there are no texts to draw pairs from",
        "set sampling.text_only=true or sampling.text_files",
    ),
    _rule(
        "sampling[images]",
        "c2c_weight",
        lambda r: r.sampling.captions > 1,
        "sampling.captions=1 leaves no other caption of an image to compare with",
        "set sampling.captions above 1",
    ),
    _rule(
        "sampling[images].beside",
        "favour",
        lambda r: bool(r.sampling.beside.languages),
        "sampling.beside.languages names no language to prefer",
        "set sampling.beside.languages",
    ),
)

TRANSFER = (
    _rule(
        "transfer",
        "translator pivot dictionary lexicon vectors method translations iterations",
        lambda r: not r.transfer.tune,
        "with transfer.tune=true, the source model keeps its own words and none are added",
        "set transfer.tune=false and transfer.keep=true",
    ),
    _rule(
        "transfer",
        "vectors",
        _adds_words,
        "it is for transfer.keep=true with an embedder other than vectors, whose own folder is "
        "text.embedder.vectors",
        "set text.embedder.vectors",
    ),
    _rule(
        "transfer",
        "translator",
        lambda r: not _adds_words(r) or r.transfer.translator != "none",
        "added words always start from the source's words, or at random",
        "set it to aligned or random",
    ),
    _rule(
        "transfer",
        "pivot dictionary lexicon",
        _translates,
        "a dictionary is only used for transfer.translator=aligned",
        "set transfer.translator=aligned",
    ),
    _rule(
        "transfer",
        "lexicon",
        lambda r: any(
            one.partition(":")[0] == "lexicon" for one in r.transfer.dictionary.split("+")
        ),
        "transfer.dictionary names another dictionary",
        "set transfer.dictionary=lexicon",
    ),
    _rule(
        "transfer",
        "method translations iterations",
        _aligns,
        "no word vectors are aligned",
        "set transfer.vectors with transfer.keep=true, or transfer.translator=aligned with "
        "text.embedder.kind=vectors",
    ),
    _rule(
        "transfer",
        "iterations",
        lambda r: r.transfer.method == "rcsls",
        "transfer.method=svd has a closed solution",
        "set transfer.method=rcsls",
    ),
)

TRAINING = (
    _rule(
        "training",
        "epochs",
        lambda r: r.training.updates is None or r.training.epochs == "auto",
        "training.updates is set, which counts instead",
        "set training.updates=null",
    ),
    _rule(
        "training",
        "buckets",
        lambda r: r.sampling.kind in ("union", "languages"),
        "batches are of images, which have no length to be sorted by",
        "set sampling.kind to union or languages",
    ),
    _rule(
        "training.schedule[step]",
        "every",
        lambda r: r.training.schedule.every_updates is None,
        "training.schedule.every_updates is set, which counts instead",
        "set training.schedule.every_updates=null",
    ),
)

COMPAT = (
    _rule(
        "compat",
        "c2c_lengths c2c_images",
        _by_language,
        "no batch ranks captions of one language against those of another",
        BY_LANGUAGE,
    ),
    _rule(
        "compat",
        "reshuffle_all",
        lambda r: r.sampling.kind == "languages",
        "languages do not have batches of their own",
        "set sampling.kind=languages",
    ),
    _rule(
        "compat",
        "halves",
        lambda r: r.data.images is not None or r.data.assignment == "disjoint",
        "all languages have all images",
        "set data.images, or data.assignment=disjoint",
    ),
    _rule(
        "compat",
        "pad_statistics",
        lambda r: r.text.embedder.kind in ("liwe", "chargru"),
        "words are not read from their characters",
        "set text.embedder.kind=liwe",
    ),
    _rule(
        "compat",
        "unpacked",
        lambda r: r.text.encoder.kind in ("gru", "bigru"),
        "the encoder is not a GRU",
        "set text.encoder.kind=bigru",
    ),
    _rule(
        "compat",
        "adversary anchor",
        _tuples,
        "only sampling.kind=tuples has an adversary and anchors",
        "set sampling.kind=tuples",
    ),
    _rule(
        "compat",
        "padded_average",
        lambda r: r.text.embedder.kind == "universal",
        "only universal words are averaged",
        "set text.embedder.kind=universal",
    ),
    _rule(
        "compat",
        "padded_attention",
        lambda r: r.text.encoder.kind == "attention",
        "the encoder has no self-attention",
        "set text.encoder.kind=attention",
    ),
    _rule(
        "compat",
        "no_imgnorm",
        lambda r: not r.joint.attends,
        "cross-attention compares cosines of vectors",
        "set joint.similarity.kind to cosine or order",
    ),
    _rule(
        "compat",
        "translator_bias",
        lambda r: r.text.embedder.kind == "vectors",
        "only fixed word vectors have translators",
        "set text.embedder.kind=vectors",
    ),
)

RULES = (*IMAGE, *TEXT, *AUGMENT, *LOSS, *SAMPLING, *TRANSFER, *TRAINING, *COMPAT)
"""Of several rules about a field, each must hold."""
