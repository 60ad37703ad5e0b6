"""Find pictures with words."""

from polyglance.search.exact import Hit, check_queries, search, search_images
from polyglance.search.gallery import Gallery, gallery_of_dataset, gallery_of_files
from polyglance.search.query import Query, check_query

__all__ = [
    "Gallery",
    "Hit",
    "Query",
    "check_queries",
    "check_query",
    "gallery_of_dataset",
    "gallery_of_files",
    "search",
    "search_images",
]
