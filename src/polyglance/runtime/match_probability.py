"""The probability that an image matches a text, from its standard score and the text.

A single threshold does not suit all texts. A word such as "dog" matches a quarter of the images,
and none of them stands out like the image of a caption; for absent things, unknown words and
nonsense, some image always comes close. So two linear functions of a text's embedding
estimate whether it is a single word rather than a sentence, and whether the model knows it at all.
Others estimate how many images show a word's subject and how far these stand out: what is
frequent in the background, such as people, cannot stand out from it. All are fitted when a
background is computed (`polyglance.runtime.fit_probability`).
"""

from dataclasses import dataclass

import numpy as np

REFERENCE = 100
"""Size of the gallery that probabilities are fitted for."""
NEAREST = 5
"""Background sentences whose mean cosine similarity measures how close a text is to captions."""


@dataclass(frozen=True)
class MatchProbability:
    """Log-odds of a match: `slope` · standard score + a term of the text.

    The term is shift · (embedding, 1) + log σ(known · (nearness, embedding, 1)). Its second part
    lowers the odds for texts that the model does not know.
    """

    slope: float
    shift: np.ndarray
    """[D + 1]"""
    known: np.ndarray
    """[D + 2]"""

    def of_texts(self, texts: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The terms [m] of texts [m, D] in the log-odds.

        Args:
            texts: of length one.
            near: [m], from `nearness`.
        """
        shift = texts @ self.shift[:-1] + self.shift[-1]
        return shift - np.logaddexp(0, -self.given_known(texts, near))

    def given_known(self, texts: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Log-odds [m] that the model knows texts [m, D].

        Args:
            texts: of length one.
            near: [m], from `nearness`.
        """
        return np.asarray(self.known[0] * near + texts @ self.known[1:-1] + self.known[-1])

    def __call__(self, standard_scores: np.ndarray, added: np.ndarray | float) -> np.ndarray:
        """Probabilities of standard scores.

        They do not depend on the number of images: adding others makes no match less likely.

        Args:
            standard_scores: [n] or [n, m].
            added: [m], from `of_texts`.
        """
        return logistic(self.slope * standard_scores + added)


def nearness(texts: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Mean cosine [m] of texts [m, D] with their nearest background sentences [K, D]."""
    cosines = np.sort(background @ texts.T, axis=0)
    return cosines[-NEAREST:].mean(0)


def logistic(values: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−x)), without overflow.

    >>> logistic(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(values, np.float64)))
