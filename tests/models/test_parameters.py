"""How large recipes are."""

import pytest

from polyglance.models.parameters import count_parameters
from polyglance.pooling import pooling_names
from polyglance.recipes import load_recipe, recipe_names

COUNTS = {
    "cmlr": 14_508_289,
    # SCAN's towers, two poolings, the concepts' graph and their shares on both sides.
    "cvse": 12_458_688 + 2 * 2_100_225 + 677_888 + 2 * 2_104_321,
    "dictionary": 12_077_248,
    "embn": 12_077_248,
    "freq-threshold": 12_077_248,
    "gella-oe": 8_385_216,
    "gella-parallel-asym": 8_385_216,
    "gella-parallel-sym": 8_385_216,
    "gella-pivot-asym": 8_385_216,
    "gella-pivot-sym": 8_385_216,
    "gella-vse": 8_385_216,
    "imram": 20_851_392,
    "kadar-bilingual": 8_385_216,
    "kadar-bilingual-c2c": 8_385_216,
    "kadar-monolingual": 8_385_216,
    "kadar-multilingual": 8_385_216,
    "kadar-multilingual-c2c": 8_385_216,
    "liwe": 12_061_289,
    "liwe-chargru": 11_804_113,
    "liwe-glove": 13_904_489,
    "liwe-joint": 12_061_289,
    "liwe-large": 13_029_449,
    "mule": 12_077_248,
    "nce": 6_681_280,
    "nce-e2e": 6_681_280 + 4_752_976,
    "order": 8_385_216,
    "par-embn": 12_077_248,
    "pca": 9_449_248,
    "scan-i2t": 12_458_688,
    "scan-t2i": 12_458_688,
    # Those of sentence-nce, 1,000 class vectors, and the kernels of the network's last stage
    # without the depthwise ones (six blocks).
    "polyglance-base": 35_624_448 + 1_000 * 512 + 3_616_304 - (25 * (720 + 4 * 1_248) + 9 * 1_248),
    # The image's layer, buckets with theirs, the sentence's, and the encoder's dense ones.
    "sentence-nce": 655_872 + 131_072 * 256 + 131_584 + 262_656 + 1_019_904,
    "smalr": 8_350_352,
    "smalr-clc-a": 8_350_352,
    "smalr-clc-c": 8_350_352,
    "smalr-hem": 8_349_840,
    "smalr-la": 10_633_728,
    "trans-to-en": 12_077_248,
    "translator": 3_132_420,
    "video-vse-infinity": 12_484_096,
    "video-vsepp": 12_458_688,
    # Two heads, the graph's roles, queries and keys, context and norm; poolings of both sides.
    "hgr": 12_458_688 + 2 * 1_311_744 + 16_384 + 1_049_600 + 1_048_576 + 2_048 + 2 * 1_025,
    "hgr-gpo": 12_458_688 + 2 * 1_311_744 + 16_384 + 1_049_600 + 1_048_576 + 2_048 + 2 * 12_704,
    "vse-infinity": 13_666_604,
    "vse-infinity-bert": None,
    "vse-infinity-grid": 12_484_396,
    # The kernels of EfficientNet-Lite2; its batch norm is not trained.
    "vse-infinity-grid-e2e": 12_484_396 + 4_752_976,
    "vse0": 8_385_216,
    "vsepp": 8_385_216,
    "vsepp-improved": 13_641_196,
    "vsrn": 31_484_608,
}
"""As version 0.1.0 worked them out by arithmetic, with the mask of an augmented table, which it
left out: 300 more of vse-infinity, vse-infinity-grid and vsepp-improved."""


def test_the_numbers_of_vsepp_by_hand() -> None:
    gru = 3 * 1024 * (300 + 1024 + 2)
    assert count_parameters(load_recipe("vsepp"), 50, 7) == 7 * 1024 + 1024 + 50 * 300 + gru


def test_of_towers_for_each_language_one_is_counted() -> None:
    towers = load_recipe("gella-vse")
    shared = load_recipe("gella-vse", {"text.towers": "shared", "sampling.kind": "union"})
    assert count_parameters(towers) == count_parameters(shared)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe(name: str) -> None:
    assert count_parameters(load_recipe(name)) == COUNTS[name]


@pytest.mark.parametrize("name", pooling_names())
def test_a_pooling_adds_its_own(name: str) -> None:
    changes = {"text.pooling": name, "text.encoder.hidden": 24, "joint.dim": 24}
    plain = count_parameters(load_recipe("vsepp", {**changes, "text.pooling": "last"}), 9, 7)
    pooled = count_parameters(load_recipe("vsepp", changes), 9, 7)
    from polyglance.pooling import build_pooling

    own = sum(parameter.numel() for parameter in build_pooling(name, 24).parameters())
    assert plain is not None
    assert pooled == plain + own
