"""The one exception that users see."""


class PolyglanceError(Exception):
    """A mistake in the input, told in one sentence: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with code 2.
    """
