"""Is a page well-formed HTML? Every element is closed, in order."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "link"}


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"


def elements(page: str) -> list[str]:
    """The names of a page's elements, in order; an assertion fails where it is ill-formed."""
    parser = _Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == [], "elements are left open"
    return parser.seen
