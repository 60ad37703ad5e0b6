"""Keys of runs in version 0.1.0: digests of flat recipes without their defaults."""

from functools import lru_cache
from typing import Any

from polyglance.core.documents import parse_yaml
from polyglance.storage.digest import json_digest

FORMAT = 2

_DEFAULTS = """
data: {languages: null, kinds: null, train_split: train, validation_split: val, complete: null,
  photos: null, assignment: shared, captions_per_image: null}
image: {feature: efficientnet-lite2/global, standardise: false, unit: false, head: linear,
  hidden: 1024, dropout: 0.0, attention: false, activation: none, normalise: false, pooling: mean}
text: {towers: shared, tokenizer: words, threshold: 4, scope: pooled, ends: true, max_length: 60,
  romanise: false, embedder: table, layers: [384, 448], characters: 24, word_length: 26,
  alphabet: data, vectors: null, trained: cooccurrence, known: 20000, centre: true,
  copy_subwords: false, words: 300, word_dropout: 0.0, encoder: gru, heads: 6, head_size: 64,
  attention_dropout: 0.1, layer_dropout: 0.01, pretrained: null, hidden: 1024, biases: 2,
  directions: average, pooling: last, projection: false, dropout: 0.0}
universal: {vectors: null, trained: 300, corpus: texts, dim: 300, frequent: null, often: 1,
  rare: drop, latent: 40000, explore: 0.2, candidates: 20, epochs: 5, updates: null, lr: 0.001,
  lexicon: null, pivot: en, precomputed: false}
joint: {dim: 1024, similarity: cosine}
attention: {matching: none, direction: t2i, aggregate: mean, smooth: 9.0, lse: 6.0, steps: 3}
augment: {vectors: 0.0, varying: false, words: 0.0, masked: 0.5, random: 0.1, ends: true}
loss: {name: max-hinge, margin: 0.2, reduction: sum, warmup_epochs: 0, warmup_updates: 0,
  epsilon: 0.991, epsilon_c2c: 0.91, temperature: 0.06, learn_temperature: true,
  mask_same_image: false, top: 10, distance: euclidean, captions: 1.5, images: 1.0}
tasks: {sampling: union, c2c: 0.0, text_only: false, grounded: null}
constraints: {captions: 2, mono: 0.05, cross: 1.0, cross_words: 1.0, adversary: 1.0e-6,
  anchor: 5.0e-7, masking: 0.0, masked: 0.2, masked_matching: true, detach: false,
  pretrain_epochs: 0, pretrain_updates: 0}
transfer: {source: null, translator: aligned, keep: false, pivot: null, dictionary: lexicon,
  lexicon: null, vectors: null, method: rcsls, translations: 1, iterations: 10}
training: {epochs: 30, updates: null, batch_size: 128, optimizer: adam, lr: 0.0002,
  weight_decay: 0.0, clip: 2.0, schedule: constant, decay_every: 15, decay: 0.1,
  warmup_updates: 0, warmup_epoch: null, multipliers: {}, evaluate_every: null, patience: 10,
  primary: null, buckets: 50, drop_last: false, collapse: stop, seed: 0}
compat: {c2c_lengths: false, halves: false, c2c_photos: false, reshuffle_all: false,
  pad_statistics: false, unpacked: false, adversary: false, anchor: false, padded_average: false,
  padded_attention: false, no_imgnorm: false, translator_bias: false}
translation: {translator: captions:$data, to: null, consistency: null}
"""


def old_key(recipe: dict[str, Any], data: str, features: str | None = None) -> str:
    """The key of a run in version 0.1.0.

    Args:
        recipe: from its run.json.
        data: the dataset's fingerprint.
        features: the digest of imported features, if any.
    """
    value: dict[str, Any] = {"format": FORMAT, "recipe": _without_defaults(recipe), "data": data}
    if features is not None:
        value["features"] = features
    return json_digest(value)[:24]


def _without_defaults(recipe: dict[str, Any]) -> dict[str, Any]:
    changed = {}
    for section, fields in recipe.items():
        defaults = _defaults().get(section)
        if defaults is None:
            changed[section] = fields
        elif own := {k: v for k, v in fields.items() if k not in defaults or v != defaults[k]}:
            changed[section] = own
    return changed


@lru_cache(maxsize=1)
def _defaults() -> dict[str, dict[str, Any]]:
    return dict(parse_yaml(_DEFAULTS))
