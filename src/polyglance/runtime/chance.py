"""How likely a picture fits a text: from its standard score, and from what the text is like.

One threshold does not serve all texts. A word such as "dog" fits a quarter of the pictures, and
none of them stands out as a caption's own picture does; and what the model does not know, absent
things and nonsense, always has some picture that comes close. So two linear functions of a text's
embedding say how single words differ from sentences, and whether it is among what the model knows
at all. Both are learned when a background is made (`polyglance.runtime.chance_fit`).
"""

from dataclasses import dataclass

import numpy as np

REFERENCE = 100
"""Pictures of the gallery that chances are learned for."""
NEAREST = 5
"""Background sentences whose mean cosine says how close a text is to what was captioned."""


@dataclass(frozen=True)
class Chance:
    """Log-odds of a fit: `slope` · standard score + what the text adds.

    The text adds shift · (embedding, 1) + log σ(known · (nearness, embedding, 1)): much is taken
    from texts that the model does not know, nothing from those it does.
    """

    slope: float
    shift: np.ndarray
    """[D + 1]"""
    known: np.ndarray
    """[D + 2]"""

    def of_texts(self, texts: np.ndarray, near: np.ndarray) -> np.ndarray:
        """What texts [m, D] add to log-odds, [m].

        Args:
            texts: of length one.
            near: [m], as `nearness` has it.
        """
        shift = texts @ self.shift[:-1] + self.shift[-1]
        known = self.known[0] * near + texts @ self.known[1:-1] + self.known[-1]
        return shift - np.logaddexp(0, -known)

    def __call__(self, standing: np.ndarray, added: np.ndarray | float) -> np.ndarray:
        """Chances between 0 and 1 of standard scores.

        The number of pictures does not count: one fits no less because others were added.

        Args:
            standing: [n] or [n, m].
            added: [m], by `of_texts`.
        """
        return logistic(self.slope * standing + added)


def nearness(texts: np.ndarray, background: np.ndarray) -> np.ndarray:
    """The mean cosine [m] of texts [m, D] with the nearest of background sentences [K, D]."""
    cosines = np.sort(background @ texts.T, axis=0)
    return cosines[-NEAREST:].mean(0)


def logistic(values: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−x)), without overflow.

    >>> logistic(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(values, np.float64)))
