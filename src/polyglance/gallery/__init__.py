"""Search: images by texts, and texts by images."""

from polyglance.gallery.captions.hit import CaptionHit, ImageResult
from polyglance.gallery.captions.list import CaptionList, open_captions
from polyglance.gallery.captions.results import CaptionResults
from polyglance.gallery.captions.search import search_captions
from polyglance.gallery.exact import search
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.open import gallery_of_dataset, gallery_of_files, open_gallery
from polyglance.gallery.query import Query, check_queries, check_query
from polyglance.gallery.results import Hit, QueryResult, SearchResults

__all__ = [
    "CaptionHit",
    "CaptionList",
    "CaptionResults",
    "Gallery",
    "Hit",
    "ImageResult",
    "Query",
    "QueryResult",
    "SearchResults",
    "check_queries",
    "check_query",
    "gallery_of_dataset",
    "gallery_of_files",
    "open_captions",
    "open_gallery",
    "search",
    "search_captions",
]
