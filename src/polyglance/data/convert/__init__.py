"""Converters of other dataset layouts to the native folder; one file per layout."""

from polyglance.data.convert import (  # noqa: F401  (they register their layouts)
    butd,
    coco,
    coco_cn,
    flickr8k,
    flickr8k_cn,
    karpathy,
    msrvtt,
    mule,
    multi30k,
    multi30k_features,
    precomp,
    table,
    vatex,
    xtd10,
)
from polyglance.data.convert.common import CONVERTERS, Conversion, Converter, ImportedFeatures
from polyglance.data.convert.options import options_of, parse_options, summary
from polyglance.data.convert.write import drop_missing, write_features, write_folder

__all__ = [
    "CONVERTERS",
    "Conversion",
    "Converter",
    "ImportedFeatures",
    "drop_missing",
    "options_of",
    "parse_options",
    "summary",
    "write_features",
    "write_folder",
]
