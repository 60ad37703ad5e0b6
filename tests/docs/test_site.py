"""The site's pages are there, and the reference names all that is public."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml

import polyglance

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages(nav):
    """The files that a navigation names, at any depth."""
    for entry in nav:
        for place in entry.values():
            yield from [place] if isinstance(place, str) else pages(place)


def identifiers():
    """What the reference's pages show, by its dotted name."""
    texts = [path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")]
    return {name for text in texts for name in re.findall(r"^::: ([\w.]+)$", text, re.M)}


def test_every_page_of_the_navigation_exists_once():
    named = list(pages(CONFIG["nav"]))
    assert [page for page in named if not (DOCS / page).is_file()] == []
    assert len(set(named)) == len(named) > 20


def test_every_page_is_in_the_navigation():
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("*.md")}
    written |= {path.relative_to(DOCS).as_posix() for path in (DOCS / "reference").glob("*.md")}
    assert written - set(pages(CONFIG["nav"])) == set()


@pytest.mark.parametrize("name", polyglance.__all__)
def test_public_names_are_on_a_reference_page(name):
    overview = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert f"`polyglance.{name}`" in overview
    if name != "__version__":  # a text
        assert f"polyglance.{name}" in identifiers()


@pytest.mark.parametrize("name", sorted(identifiers()))
def test_what_the_reference_shows_exists_and_has_a_docstring(name):
    assert resolve_name(name).__doc__


def test_nothing_is_loaded_from_another_host():
    assert CONFIG["theme"]["font"] is False
    assert not {"extra_css", "extra_javascript", "repo_url"} & set(CONFIG)


def test_the_files_of_the_package_that_pages_name_exist():
    sources = ROOT / "src" / "polyglance"
    rooms = "|".join(place.name for place in sources.iterdir() if place.is_dir())
    file = re.compile(rf"`((?:{rooms})/[\w/.-]+\.(?:py|json|yaml|txt))")
    named = {
        (page.name, name)
        for page in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for name in file.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    assert [(page, name) for page, name in sorted(named) if not (sources / name).is_file()] == []
