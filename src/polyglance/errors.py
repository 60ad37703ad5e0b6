"""The one exception that users see, and the warnings."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PolyglanceError(Exception):
    """A mistake in the input, in one sentence: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with code 2.

    >>> import polyglance
    >>> try:
    ...     polyglance.load_dataset("holiday")
    ... except polyglance.PolyglanceError as error:
    ...     print(error)
    holiday: no such dataset; pass a folder, a CSV or Parquet file, or 'generated'
    """


class ArgumentError(PolyglanceError):
    """Arguments that do not go together; the message has the names of parameters in backquotes.

    A command says its options instead (`polyglance.cli.options.naming_options`).
    """


class MissingPackage(PolyglanceError, ImportError):
    """A package that is not installed, with what to install.

    Args:
        what: what needs it, at the start of the message.
        name: of the package; None if the import error has none.
        extra: of Polyglance that installs it.
    """

    def __init__(self, what: str, name: str | None, extra: str = "train") -> None:
        remedy = "install the training extra with: pip install 'polyglance[train]'"
        if extra != "train":
            remedy = f"install it with: pip install 'polyglance[{extra}]'"
        super().__init__(f"{what} needs the package '{name}', which is not installed; {remedy}")
        self.name = name


@contextmanager
def needed_by(what: str, extra: str = "train") -> Iterator[None]:
    """Make a missing package of others an error that says what needs it and what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("polyglance"):
            raise
        raise MissingPackage(what, error.name, extra) from None


class NoWords(PolyglanceError):
    """A text without any word; `index` is its position among the texts."""

    def __init__(self, text: str, index: int) -> None:
        super().__init__(f"the text {text!r} has no words to look for")
        self.text, self.index = text, index


class ImageProblem(PolyglanceError):
    """An image that cannot be read: `reason` in a few words."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class PolyglanceWarning(UserWarning):
    """A problem that does not stop the work, such as unreadable images."""


class OutsideWarning(PolyglanceWarning):
    """A file outside a model's folder that was not read."""


class IndexWarning(PolyglanceWarning):
    """A search is waiting for another process to index, or cannot store its index."""


class UnknownWordsWarning(PolyglanceWarning):
    """Words that the model does not know; texts without other words have no useful embedding."""


class UnknownLanguageWarning(PolyglanceWarning):
    """A language that a model was not trained on."""


class UnreadableImageWarning(PolyglanceWarning):
    """An image that was left out."""
