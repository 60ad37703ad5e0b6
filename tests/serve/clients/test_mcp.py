"""The MCP server: the real command, asked by the official client over stdin and stdout."""

import asyncio
import base64
import io
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("mcp")
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from polyglance.library import Library, sync
from tests.everyday.conftest import write_picture
from tests.loops import run_apart
from tests.serve.test_command import TORCH
from tests.test_missing_packages import BLOCKED, ROOT

Asking = Callable[[Client], Awaitable[None]]


def command(tmp_path: Path, *words: object, blocked: list[str] = TORCH) -> StdioServerParameters:
    code = BLOCKED.format(names=blocked) + "from polyglance.cli import main; main()"
    own = {"PYTHONPATH": str(ROOT / "src"), "POLYGLANCE_CACHE": str(tmp_path / "cache")}
    args = ["-c", code, "mcp", *map(str, words)]
    return StdioServerParameters(
        command=sys.executable, args=args, env={**own, "OMP_NUM_THREADS": "1"}, cwd=tmp_path
    )


def ask(server: StdioServerParameters, asking: Asking) -> None:
    async def run() -> None:
        async with Client(server, read_timeout_seconds=120) as client:
            await asking(client)

    run_apart(run())


async def found(client: Client, tool: str, **arguments: Any) -> list[str]:
    """Names of the files that a tool found."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return [Path(one["file"]).name for one in answer.structured_content["pictures"]]


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)  # type: ignore[union-attr]


def test_a_folder(tmp_path: Path, pictures: Path, model_folder: Path) -> None:
    async def asking(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            "search_pictures",
            "search_by_picture",
            "show_picture",
            "about_pictures",
        }
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
        about = (await client.call_tool("about_pictures", {})).structured_content
        assert about is not None
        assert (about["pictures"], about["folders"], about["library"]) == (6, [str(pictures)], None)
        await check_searches(client, pictures)
        await check_images(client)
        await check_refusals(client, pictures)

    ask(command(tmp_path, pictures, "--model", model_folder), asking)


async def check_searches(client: Client, pictures: Path) -> None:
    answer = await client.call_tool("search_pictures", {"query": "red dog -snow", "limit": 4})
    assert answer.structured_content is not None
    hits = answer.structured_content["pictures"]
    assert answer.structured_content["searched"] == 6
    assert len(hits) == 4
    assert all(Path(hit["file"]).is_relative_to(pictures) for hit in hits)
    assert all(Path(hit["file"]).is_file() for hit in hits)
    plain = await client.call_tool("search_pictures", {"query": "red dog", "limit": 4})
    assert plain.structured_content is not None
    assert hits != plain.structured_content["pictures"]
    first = hits[0]
    others = await found(client, "search_pictures", like=first["id"], limit=50)
    assert len(others) == 5
    assert Path(first["file"]).name not in others
    assert await found(client, "search_pictures", query="dog", since="2024", until="2025-01") == []
    path = str(pictures / "deep" / "5.jpg")
    assert (await found(client, "search_by_picture", path=path))[0] == "5.jpg"
    assert len(await found(client, "search_by_picture", path=path, query="dog", limit=2)) == 2


async def check_images(client: Client) -> None:
    answer = await client.call_tool("search_pictures", {"query": "dog"})
    assert answer.structured_content is not None
    name = answer.structured_content["pictures"][0]["id"]
    for large in (False, True):
        shown = await client.call_tool("show_picture", {"id": name, "large": large})
        (content,) = shown.content
        assert content.type == "image"
        image = Image.open(io.BytesIO(base64.b64decode(content.data)))
        assert (image.size, image.get_format_mimetype()) == ((80, 64), content.mime_type)


async def check_refusals(client: Client, pictures: Path) -> None:
    for query in ("", "-dog"):
        said = await refused(client, "search_pictures", query=query)
        assert "nothing to search for; pass a sentence in 'query'" in said
    assert "knows none of the words" in await refused(client, "search_pictures", query="zebra")
    assert "not a date" in await refused(client, "search_pictures", query="dog", since="May")
    assert "limit" in await refused(client, "search_pictures", query="dog", limit=1000)
    assert "no image with this id" in await refused(client, "show_picture", id="../0.png")
    for path, said in {
        "/etc/passwd": "cannot be read",
        "/dev/zero": "no such file",
        str(pictures): "no such file",
        str(pictures / "bad.jpg"): "cannot be read",
    }.items():
        assert said in await refused(client, "search_by_picture", path=path)


def test_a_library(tmp_path: Path, pictures: Path, model_folder: Path) -> None:
    pytest.importorskip("lancedb")
    library = Library.create(tmp_path / "mine", model_folder)
    library.change(folders=[str(pictures)])
    sync(library, show_progress=False)

    async def asking(client: Client) -> None:
        about = (await client.call_tool("about_pictures", {})).structured_content
        assert about is not None
        assert (about["library"], about["folders"]) == (str(library.folder), [str(pictures)])
        assert about["model"] == library.settings.model
        assert len(await found(client, "search_pictures", query="dog")) == 6

    ask(command(tmp_path, "mine"), asking)


def test_a_folder_that_changes_is_read_again(tmp_path: Path, model_folder: Path) -> None:
    folder = tmp_path / "pictures"
    write_picture(folder / "0.png", 0)

    async def asking(client: Client) -> None:
        assert await found(client, "search_pictures", query="dog") == ["0.png"]
        write_picture(folder / "1.png", 1)
        end = time.monotonic() + 120
        while len(await found(client, "search_pictures", query="dog")) == 1:
            assert time.monotonic() < end
            await asyncio.sleep(0.2)

    ask(command(tmp_path, folder, "--model", model_folder), asking)


def test_a_large_image_is_made_smaller(tmp_path: Path, model_folder: Path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    image = Image.linear_gradient("L").convert("RGB").resize((3000, 1500))
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    image.save(folder / "one.jpg", exif=exif)

    async def asking(client: Client) -> None:
        about = await client.call_tool("search_pictures", {"query": "dog"})
        assert about.structured_content is not None
        name = about.structured_content["pictures"][0]["id"]
        sizes = []
        for large in (False, True):
            shown = await client.call_tool("show_picture", {"id": name, "large": large})
            data = base64.b64decode(shown.content[0].data)  # type: ignore[union-attr]
            assert b"where I live" not in data
            sizes.append(Image.open(io.BytesIO(data)).size)
        assert sizes == [(320, 160), (1024, 512)]

    ask(command(tmp_path, folder, "--model", model_folder), asking)


def test_invalid_options_are_refused_at_the_start(tmp_path: Path, pictures: Path) -> None:
    for words, blocked, said in (
        ([tmp_path / "none"], TORCH, "no such folder"),
        ([pictures], [*TORCH, "mcp"], "pip install 'polyglance[mcp]'"),
    ):
        server = command(tmp_path, *words, blocked=blocked)
        assert server.env is not None
        done = subprocess.run(
            [server.command, *server.args], env=server.env, cwd=tmp_path, capture_output=True
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert said in done.stderr.decode().splitlines()[-1]
