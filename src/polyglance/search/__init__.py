"""Find images with texts."""

from polyglance.search.exact import search
from polyglance.search.gallery import Gallery, gallery_of_dataset, gallery_of_files, open_gallery
from polyglance.search.query import Query, check_queries, check_query
from polyglance.search.results import Hit, QueryResult, SearchResults

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
