"""An MCP server with the tools of `Assistant`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError, needed_by
from polyglance.serve.clients.assistant import About, Assistant, FoundImages
from polyglance.serve.images.collection import Collection
from polyglance.serve.queries.filters import Where
from polyglance.serve.queries.texts import LONGEST

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

MOST = 50
"""Largest number of images in an answer."""
_HELP = (
    "Searches the images on this machine with sentences in any language and with other images. "
    "Look at a result with show_picture before you describe it: a search ranks all images, and the "
    "first result may not be a match."
)
T = TypeVar("T")
Query = Annotated[
    str,
    Field(
        max_length=LONGEST,
        description='what the images show, in any language; -word or -"some words" is excluded',
    ),
]
Limit = Annotated[int, Field(ge=1, le=MOST, description="largest number of results")]
Like = Annotated[
    str | None, Field(max_length=100, description="the id of an image; similar images are found")
]
Everything = Annotated[bool, Field(description="also return images that do not match")]
Since = Annotated[
    str | None, Field(description="taken on this date or later: 2024, 2024-05 or 2024-05-31")
]
Until = Annotated[str | None, Field(description="taken on this date or earlier")]
Path = Annotated[str, Field(max_length=4096, description="path of an image file on this machine")]
Name = Annotated[str, Field(max_length=100, description="an id from a search")]
Large = Annotated[bool, Field(description="1024 pixels instead of 320")]


def make_server(asked: Assistant | Collection) -> "MCPServer[Any]":
    """The MCP server of a collection; `run()` uses stdin and stdout.

    Args:
        asked: the collection to search, or an assistant whose collection may be replaced.
    """
    with needed_by("'polyglance mcp'", "mcp"):
        from mcp.server.mcpserver import Image, MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    assistant = asked if isinstance(asked, Assistant) else Assistant(asked)
    server: MCPServer[Any] = MCPServer(
        "polyglance", instructions=_HELP, version=__version__, log_level="WARNING"
    )
    harmless = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    def answered(ask: Callable[[], T]) -> T:
        try:
            return ask()
        except PolyglanceError as error:
            raise ToolError(str(error)) from None

    @server.tool(annotations=harmless)
    def search_pictures(
        query: Query = "",
        like: Like = None,
        limit: Limit = 10,
        since: Since = None,
        until: Until = None,
        everything: Everything = False,
    ) -> FoundImages:
        """Find images by a sentence, by an image found before, or by both."""
        where = Where(since=since, until=until)
        return answered(lambda: assistant.search(query, like, None, limit, where, everything))

    @server.tool(annotations=harmless)
    def search_by_picture(
        path: Path, query: Query = "", limit: Limit = 10, everything: Everything = False
    ) -> FoundImages:
        """Find images similar to the one in a file, combined with a query if there is one."""
        return answered(lambda: assistant.search(query, None, path, limit, everything=everything))

    @server.tool(annotations=harmless)
    def show_picture(id: Name, large: Large = False) -> Image:
        """Look at an image that a search found."""
        found = answered(lambda: assistant.show(id, large))
        return Image(data=found.data, format=found.type.removeprefix("image/"))

    @server.tool(annotations=harmless)
    def about_pictures() -> About:
        """How many images there are, and in which folders."""
        return assistant.about()

    return server
