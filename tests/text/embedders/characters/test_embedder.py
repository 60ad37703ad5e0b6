"""Several threads encode at a time, as in a web server, and get what one gets alone."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread
from typing import TypeVar

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.models.together import Together
from polyglance.text.embedders.characters import embedder
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.lexicon import Lexicon
from polyglance.text.embedders.characters.layer import SpeltWords
from polyglance.text.tokenizers.base import get_tokenizer
from polyglance.text.embedders.characters.networks import Liwe
from tests.training.test_liwe import model

THREADS = 6
T = TypeVar("T")


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Threads take turns as often as they can, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], T]) -> list[T]:
    """What `work` gives to each of some threads that start together."""
    barrier = Barrier(THREADS)

    def start(number: int) -> T:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def spelt(number: int) -> str:
    return np.base_repr(number + 7, 16).lower().translate(str.maketrans("0123456789", "ghijklmnop"))


def texts(thread: int, rounds: int = 12) -> list[str]:
    """Words that all threads share, and some of each thread's own."""
    return [f"{spelt(n)} red {spelt(1000 * thread + n)} dog" for n in range(rounds)]


def test_every_word_has_one_id() -> None:
    lexicon = Lexicon(Alphabet("abcdefghijklmnop"), 6)
    words = [spelt(n) for n in range(400)]
    found = at_once(lambda _: [lexicon.encode([word], ends=False)[0] for word in words])
    assert all(ids == found[0] for ids in found)
    assert len(lexicon) == len(words) + 4
    assert lexicon.decode(found[0]) == words
    alone = Lexicon(Alphabet("abcdefghijklmnop"), 6)
    expected = alone.characters(np.array(alone.encode(words, ends=False)))
    assert (lexicon.characters(np.array(found[0])) == expected).all()


@pytest.mark.parametrize("limit", [40, 50_000])
def test_word_vectors_do_not_mix(limit: int) -> None:
    lexicon = Lexicon(Alphabet("abcdefghijklmnop"), 6)
    words = SpeltWords(Liwe(len(lexicon.alphabet), (6, 5), 7, 4, 6), lexicon, limit).eval()
    ids = torch.tensor([lexicon.encode([spelt(n)], ends=False)[0] for n in range(100)])
    with torch.no_grad():
        expected = words.embed(ids)

    def work(thread: int) -> bool:
        generator = torch.Generator().manual_seed(thread)
        with torch.inference_mode():
            for _ in range(30):
                rows = torch.randperm(len(ids), generator=generator)[:25]
                if not torch.allclose(words(ids[rows]), expected[rows], atol=1e-6):
                    return False
        return True

    assert all(at_once(work))


@pytest.mark.parametrize("kept", [60, 200_000])
@pytest.mark.parametrize("embedder", ["liwe", "chargru"])
def test_texts_are_encoded_as_alone(
    embedder: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spellings, "KEPT_FORMS", kept)
    shared, alone = (model(f"text.embedder.kind={embedder}") for _ in range(2))
    shared.network.load_state_dict(alone.network.state_dict())
    before = {name: value.clone() for name, value in shared.network.state_dict().items()}
    expected = [alone.encode_text(texts(thread)) for thread in range(THREADS)]

    def work(thread: int) -> np.ndarray:
        return np.concatenate([_encode(shared, text) for text in texts(thread)])

    for found, wanted in zip(at_once(work), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert shared.network.training  # as it was built
    after = shared.network.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert len(shared.reader.of(None)) <= max(kept, 60) + THREADS * 4 or kept == 200_000


def _encode(made: Model, text: str) -> np.ndarray:
    return np.asarray(made.encode_text(text))


def test_newcomers_wait_for_the_last_where_many_have_entered() -> None:
    calls: list[str] = []
    block = Together(lambda: calls.append("first"), lambda: calls.append("last"), most=2)
    entered = Event()

    def enter() -> None:
        with block:
            entered.set()

    newcomer = Thread(target=enter)
    with block, block:
        newcomer.start()
        assert not entered.wait(0.05)
    assert entered.wait(30)
    newcomer.join()
    assert calls == ["first", "last"] * 2


def test_a_failure_lets_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellings, "KEPT_FORMS", 30)
    made = model()
    with pytest.raises(Exception, match="no words"):
        made.encode_text(["?!"])
    assert all(np.isfinite(codes).all() for codes in at_once(lambda n: _encode(made, spelt(n))))
    assert made.network.training


@pytest.mark.parametrize(
    ("package", "text", "language"),
    [("jieba", "一只狗在草地上奔跑", "zh"), ("sudachipy", "犬が草の上を走っている", "ja")],
)
def test_segmenters_serve_several_threads(package: str, text: str, language: str) -> None:
    pytest.importorskip(package)
    expected = get_tokenizer("words").tokenize(text, language)
    assert len(expected) > 3
    found = at_once(lambda _: [get_tokenizer("words").tokenize(text, language) for _ in range(40)])
    assert all(tokens == expected for part in found for tokens in part)
