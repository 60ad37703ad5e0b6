"""Opening an image network by its name."""

from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.vision.backbones import FAMILIES, Backbone, backbones


def open_backbone(name: str, cache: Path) -> Backbone:
    """The network called `name`.

    Names are the registered ones, `timm:NAME[@weights file]`, `torchvision:NAME[@weights file]`
    and `transformers:FOLDER`. Converted networks are kept below `cache`.
    """
    family, colon, rest = name.partition(":")
    if not colon:
        from polyglance.vision.lite import LiteBackbone

        return LiteBackbone(backbones.get(name), cache)
    from polyglance.vision import external  # noqa: F401  (registers the families)

    if not rest:
        raise PolyglanceError(f"backbone '{name}': name a network after the colon")
    return FAMILIES.get(family)(rest)
