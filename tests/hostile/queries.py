"""What an attacker, or a cat on the keyboard, would look for."""

from collections.abc import Iterator

from tests.hostile.cases import seeds

CERTAIN = [
    "",
    " ",
    "\0",
    "...",
    "\n\n\t",
    "\x1b]0;owned\x07 dog",
    "a" * 8000,
    "dog " * 20_000,
    "狗" * 8000,
    "é" * 3000 + "́" * 3000,
    "\u202edog",
    "\ud800",
    "dog\ud83d",
    "👩‍👩‍👧‍👦" * 200,
    "%s%n{0}{__class__}",
    "'; DROP TABLE images; --",
    "<script>alert(1)</script>",
    "[bold]dog[/bold]",
    "--top",
    "/etc/passwd",
    "http://127.0.0.1:1/",
    "ﷺ" * 500,
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "\ufeffdog",
    "dog\u00a0dog\u3000dog\u2028dog",
    "１２３ ４５６",
    "a." * 5000,
]


def queries(count: int) -> Iterator[str]:
    """The certain ones, and `count` of random letters of all planes."""
    yield from CERTAIN
    for generator in seeds(count):
        size = int(generator.integers(1, 60))
        tops = generator.choice([0x80, 0x800, 0x3000, 0x10000, 0x110000], size)
        yield "".join(chr(int(generator.integers(0, top))) for top in tops)
