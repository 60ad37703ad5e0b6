"""The ten languages of the SMALR paper, a module each."""

from importlib import import_module

from polyglance.data.generated.messages import Message
from polyglance.data.generated.realise import Language

LANGUAGES = ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")


def language(code: str) -> Language:
    """The grammar of a language."""
    grammar: Language = import_module(f"{__name__}.{code}").LANGUAGE
    return grammar


def realise(message: Message, code: str) -> str:
    """The message as a sentence of a language.

    >>> from polyglance.data.generated.messages import Mention
    >>> realise(Message(Mention("dog", 2, "red"), action="run", place="beach"), "en")
    'Two red dogs are running on a beach.'
    """
    return language(code).realise(message)
