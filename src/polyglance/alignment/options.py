"""Options of an alignment."""

from dataclasses import dataclass

from polyglance.errors import PolyglanceError

METHODS = ("svd", "rcsls")


@dataclass(frozen=True, kw_only=True)
class AlignmentOptions:
    """How a map is fitted and evaluated.

    >>> AlignmentOptions(method="procrustes")
    Traceback (most recent call last):
    polyglance.errors.PolyglanceError: method 'procrustes': expected svd or rcsls

    Args:
        method: `svd` (Procrustes), or `rcsls`, gradient descent that starts from it.
        centre: whether to subtract each language's mean vector.
        neighbours: number of words, most frequent first, among which RCSLS and CSLS find
            neighbours; None for all.
        k: neighbours of RCSLS and CSLS.
        iterations: of RCSLS, at most; it stops early if the rate falls below 1e-4.
        rate: first learning rate of RCSLS.
        spectral: whether RCSLS clips singular values to 1 after every step.
        show_progress: whether to show a progress bar; None for only on a terminal.
    """

    method: str = "rcsls"
    centre: bool = False
    neighbours: int | None = None
    k: int = 10
    iterations: int = 10
    rate: float = 25.0
    spectral: bool = False
    show_progress: bool | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise PolyglanceError(f"method '{self.method}': expected svd or rcsls")


DEFAULTS = AlignmentOptions()
