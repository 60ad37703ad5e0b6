"""Searches of many images, with products in 8 bits first, beside exact ones."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.gallery import Gallery, scoring
from polyglance.numerics.similarity import normalise
from polyglance.runtime.background import Background
from polyglance.runtime.match_probability import MatchProbability
from polyglance.runtime.model import ExportedModel
from polyglance.serve import Collection
from polyglance.serve.answers.searching import SearchRequest, search
from polyglance.serve.encoding.engine import Engine, Served
from polyglance.serve.images.facts import FactTable
from polyglance.serve.queries.filters import Where

COUNT = 3000
TEXTS = ["red dog", "snow", "people dog"]


def served(model: ExportedModel, background: Background | None) -> Served:
    """Near-duplicates of what the texts look like, closer to each other than 8 bits tell."""
    chance = np.random.default_rng(0)
    centres = np.asarray(model.encode_text(TEXTS))[chance.integers(0, len(TEXTS), COUNT)]
    centres += 0.3 * chance.choice(chance.standard_normal((9, model.dim)), COUNT) / model.dim**0.5
    vectors = normalise(centres + 1e-4 * chance.standard_normal((COUNT, model.dim)))
    paths = [Path(f"/none/{number % 7}/{number}.jpg") for number in range(COUNT)]
    ids = [f"{number:032x}" for number in range(COUNT)]
    ids[5] = ids[4]
    found = Collection(model, Gallery(paths, vectors, [], content=ids, unit=True), ["/none"])
    found.__dict__["_facts"] = FactTable.of([], len(found))
    found.scorer.background = background
    return Served(found, Engine(model))


def backgrounds(dim: int) -> dict[str, Background | None]:
    images, texts = np.random.default_rng(1).standard_normal((2, 30, dim)).astype(np.float32)
    chance = MatchProbability(0.8, np.r_[np.zeros(dim), -4.0], np.zeros(dim + 2))
    given = normalise(images), normalise(texts)
    return {
        "none": None,
        "threshold": Background(*given, 4.0),
        "chance": Background(*given, 0.5, chance=chance),
        "nothing": Background(*given, 1000.0),
    }


def pages(given: Served, request: SearchRequest) -> list[dict]:
    """The first four pages."""
    found, cursor = [], None
    for _ in range(4):
        page = search(given, request, 11, cursor)
        found.append(page.model_dump(exclude={"cursor"}))
        cursor = page.cursor
        if cursor is None:
            break
    return found


@pytest.mark.parametrize("kind", ["none", "threshold", "chance", "nothing"])
def test_pages_are_those_of_exact_products(
    model: ExportedModel, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    background = backgrounds(model.dim)[kind]
    exact, quick = served(model, background), served(model, background)
    monkeypatch.setattr(scoring, "QUANTISED_FROM", 1)
    monkeypatch.setattr(scoring, "UNCERTAIN", 1.0)
    quick.collection.scorer.prepare()
    rows, whole = exact.collection.gallery.embeddings.astype(np.float64), []

    def products(vector: np.ndarray) -> np.ndarray:
        whole.append(vector)
        return (rows @ vector.astype(np.float64)).astype(np.float32)

    for one in (exact, quick):
        monkeypatch.setattr(one.collection.scorer, "_products", products)
    for text in TEXTS:
        for everything in (False, True):
            for where in (Where(), Where(folder="3")):
                request = SearchRequest(text, everything=everything, where=where)
                wanted = pages(exact, request)
                before = len(whole)
                assert pages(quick, request) == wanted
                assert len(whole) == before  # none compared all
    for one in (exact, quick):
        one.engine.close()


def test_products_in_8_bits_alone_would_not_do(
    model: ExportedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = served(model, None)
    monkeypatch.setattr(scoring, "QUANTISED_FROM", 1)
    scorer = given.collection.scorer
    scorer.prepare()
    assert scorer._quantised is not None
    vector = np.asarray(model.encode_text(TEXTS[:1]))[0]
    found = scorer._quantised(vector)[0], scorer._products(vector)
    quick, exact = (np.argsort(-one)[:11].tolist() for one in found)
    assert quick != exact
    given.engine.close()


def test_where_most_images_are_uncertain_all_are_compared(
    model: ExportedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, whole = served(model, None), []
    monkeypatch.setattr(scoring, "QUANTISED_FROM", 1)
    monkeypatch.setattr(scoring, "UNCERTAIN", 0.0)
    scorer = given.collection.scorer
    scorer.prepare()
    products = scorer._products
    monkeypatch.setattr(scorer, "_products", lambda v: whole.append(v) or products(v))
    search(given, SearchRequest(TEXTS[0]), 11, None)
    assert len(whole) == 1
    given.engine.close()


def test_small_galleries_have_no_second_copy(model: ExportedModel) -> None:
    given = served(model, None)
    given.collection.scorer.prepare()
    assert given.collection.scorer._quantised is None
    given.engine.close()
