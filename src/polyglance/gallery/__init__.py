"""Find images with texts."""

from polyglance.gallery.exact import search
from polyglance.gallery.gallery import Gallery, gallery_of_dataset, gallery_of_files, open_gallery
from polyglance.gallery.query import Query, check_queries, check_query
from polyglance.gallery.results import Hit, QueryResult, SearchResults

__all__ = [
    "Gallery",
    "Hit",
    "Query",
    "QueryResult",
    "SearchResults",
    "check_queries",
    "check_query",
    "gallery_of_dataset",
    "gallery_of_files",
    "open_gallery",
    "search",
]
