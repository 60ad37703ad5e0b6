"""Learns chances of a fit from captions, single words, and texts about what no picture shows.

Every trial is a text and the best standard score that it has among 100 pictures: of those that fit
it, or of those that do not. A text's own part of the log-odds is the same for all pictures, so the
best one is known before anything is learned.
"""

from dataclasses import dataclass

import numpy as np

from polyglance.runtime.chance import REFERENCE, Chance, logistic

LACKING = 0.75
"""Share of words that pictures lack, of single words that nothing fits; others are unknown."""
STRANGE = 0.05
"""Share of texts about nothing, of sentences that nothing fits; the others are captions."""
ALARM = 1.15
"""What a picture that is wrongly shown counts, where one that is missed counts 1."""
PER_WORD = 8
"""Pictures at most that a word is asked for."""
LEAST = 20
"""Texts of each kind that are needed."""


@dataclass(frozen=True)
class Words:
    """What is asked for beside captions, as embeddings.

    `vectors` [W, D] are of words that captions of a picture share, `has` [N, W] says which of all
    images have a caption with the word, and `shares` [N, W] where several captions have it. No
    caption has a word of `unknown` [U, D], single words, nor of `strange` [S, D], texts of
    several.
    """

    vectors: np.ndarray
    has: np.ndarray
    shares: np.ndarray
    unknown: np.ndarray
    strange: np.ndarray

    @property
    def enough(self) -> bool:
        """Whether chances can be learned from them."""
        return min(map(len, (self.vectors, self.unknown, self.strange))) >= LEAST


@dataclass(frozen=True)
class Texts:
    """All texts that are asked: embeddings [Q, D], kinds, halves, how close to the background."""

    vectors: np.ndarray
    kind: np.ndarray
    half: np.ndarray
    near: np.ndarray

    def of(self, *kinds: str) -> np.ndarray:
        """Which are of these kinds, [Q]."""
        return np.isin(self.kind, kinds)


@dataclass(frozen=True)
class Trials:
    """The best score [T] of a text [T], whether of pictures that fit, and what a trial counts."""

    score: np.ndarray
    text: np.ndarray
    fits: np.ndarray
    weight: np.ndarray

    def where(self, chosen: np.ndarray) -> "Trials":
        """Some of them; `chosen` [T] is true for these."""
        return Trials(self.score[chosen], self.text[chosen], self.fits[chosen], self.weight[chosen])


def of_words(
    standing: np.ndarray, has: np.ndarray, shares: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Trials (score, word) of words that fit, and of words that 100 pictures lack.

    Args:
        standing: [n, W], standard scores.
        has: [n, W]: which pictures have a caption with the word.
        shares: [n, W]: of which several have it.
        generator: draws galleries.
    """
    right, wrong = [], []
    for word in range(standing.shape[1]):
        own, column = np.flatnonzero(has[:, word]), standing[:, word]
        asked = generator.permutation(np.flatnonzero(shares[:, word]))[:PER_WORD]
        for row in asked:
            drawn = own[generator.random(len(own)) < REFERENCE / len(column)]
            right.append((max(column[row], column[drawn].max(initial=-np.inf)), word))
        lacking = np.flatnonzero(~has[:, word])
        if len(lacking):
            wrong.append((best(column[:, None], lacking[:, None], REFERENCE, generator)[0], word))
    return np.array(right).reshape(-1, 2), np.array(wrong).reshape(-1, 2)


def best(
    standing: np.ndarray, pools: np.ndarray | None, size: int, generator: np.random.Generator
) -> np.ndarray:
    """The best score [m] of each text among `size` pictures of a pool, or of any.

    Args:
        standing: [n, m].
        pools: [p, m], rows of the pictures that a text's are drawn from.
        size: pictures; all of the pool if it has fewer.
        generator: draws.
    """
    count = len(standing) if pools is None else len(pools)
    found = np.empty(standing.shape[1])
    for text in range(standing.shape[1]):
        drawn = generator.permutation(count)[:size]
        rows = drawn if pools is None else pools[drawn, text]
        found[text] = standing[rows, text].max()
    return found


def learn(texts: Texts, trials: Trials) -> tuple[Chance, float, float]:
    """Chances, and the shares of captions that rightly fit and do not, by those of the other half.

    Args:
        texts: of the kinds "caption", "word", "unknown" and "strange".
        trials: of these texts.
    """
    probes = [_probes(texts, half) for half in (0, 1)]
    padded = np.concatenate([texts.vectors, np.ones((len(texts.vectors), 1))], 1)
    # What a text is like is said by the other half, as it will be of texts that come later.
    like = np.where(texts.half[:, None] == 0, padded @ probes[1], padded @ probes[0])
    halves = texts.half[trials.text]
    rates = []
    for half in (0, 1):
        known, fit = _coefficients(texts, trials, like, texts.half == half)
        judged = trials.where((halves != half) & texts.of("caption")[trials.text])
        positive = _log_odds(judged, texts, like, known, fit) >= 0
        rates.append([positive[judged.fits].mean(), 1 - positive[~judged.fits].mean()])
    known, fit = _coefficients(texts, trials, like, np.ones(len(texts.half), bool))
    mean = np.mean(probes, 0)
    shift = fit[1] * mean[:, 0]
    shift[-1] += fit[2]
    knows = mean @ known[1:3]
    knows[-1] += known[3]
    made = Chance(max(float(fit[0]), 0.0), shift, np.concatenate([known[:1], knows]))
    kept, refused = map(float, np.mean(rates, 0))
    return made, kept, refused


def _probes(texts: Texts, half: int) -> np.ndarray:
    """[D + 1, 2]: words rather than captions; captions and words rather than the rest."""
    own = texts.half == half
    seen = own & texts.of("caption", "word")
    single = _ridge(texts.vectors[seen], texts.of("word")[seen], 3.0)
    return np.stack([single, _ridge(texts.vectors[own], texts.of("caption", "word")[own], 10.0)], 1)


def _ridge(vectors: np.ndarray, positive: np.ndarray, penalty: float) -> np.ndarray:
    """Linear function [D + 1] that is near 1 for the positive and −1 for others, each side's
    weight the same."""
    weight = np.where(positive, 1 / max(positive.sum(), 1), 1 / max((~positive).sum(), 1))
    weight *= len(weight) / weight.sum()
    given = np.concatenate([vectors, np.ones((len(vectors), 1))], 1)
    weighted = given * weight[:, None]
    square = weighted.T @ given + penalty * np.eye(given.shape[1])
    return np.asarray(np.linalg.solve(square, weighted.T @ np.where(positive, 1.0, -1.0)))


def _coefficients(
    texts: Texts, trials: Trials, like: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Those of being known (nearness, both probes, 1), and of fitting (score, first probe, 1)."""
    given = np.concatenate([texts.near[:, None], like], 1)[chosen]
    sizes = {kind: (texts.kind[chosen] == kind).sum() for kind in np.unique(texts.kind)}
    weight = np.array([1 / sizes[kind] for kind in texts.kind[chosen]])
    known = regress(given, texts.of("caption", "word")[chosen], weight)
    own = trials.where(chosen[trials.text])
    offset = -np.logaddexp(0, -(given_known(texts, like, known)[own.text]))
    features = np.stack([own.score, like[own.text, 0]], 1)
    return known, regress(features, own.fits, own.weight, offset)


def given_known(texts: Texts, like: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Log-odds [Q] that a text is known."""
    return np.asarray(texts.near * known[0] + like @ known[1:3] + known[3])


def _log_odds(
    trials: Trials, texts: Texts, like: np.ndarray, known: np.ndarray, fit: np.ndarray
) -> np.ndarray:
    offset = -np.logaddexp(0, -given_known(texts, like, known)[trials.text])
    return np.asarray(fit[0] * trials.score + fit[1] * like[trials.text, 0] + fit[2] + offset)


def regress(
    features: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray,
    offset: np.ndarray | None = None,
    steps: int = 30,
) -> np.ndarray:
    """Logistic regression by Newton's method: coefficients [F + 1], the constant last.

    Args:
        features: [n, F].
        positive: [n].
        weight: [n], what an example counts.
        offset: [n], part of the log-odds that is given.
        steps: of Newton's method.
    """
    weight = 1000 * weight / weight.sum()
    mean, spread = features.mean(0), np.maximum(features.std(0), 1e-6)
    given = np.concatenate([(features - mean) / spread, np.ones((len(features), 1))], 1)
    start = np.zeros(len(given)) if offset is None else offset
    found, ridge = np.zeros(given.shape[1]), 1e-2 * np.eye(given.shape[1])
    for _ in range(steps):
        chance = logistic(start + given @ found)
        slope = given.T @ (weight * (chance - positive)) + ridge @ found
        curve = (given * (weight * chance * (1 - chance))[:, None]).T @ given + ridge
        found -= np.linalg.solve(curve, slope)
    own = found[:-1] / spread
    return np.append(own, found[-1] - own @ mean)
