"""Pictures in terminals: what is sent decodes to the picture, and the right way is chosen."""

import base64
import os
import pty
import re
import select
import subprocess
import sys
import time
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from polyglance.errors import PolyglanceError
from polyglance.gallery.graphics import protocol, thumbnails
from polyglance.gallery.graphics.protocols import blocks, iterm2, kitty, sixel
from tests.everyday.conftest import write_picture


@pytest.mark.parametrize(
    ("variables", "sixel_known", "expected"),
    [
        ({"TERM": "xterm-kitty"}, False, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, False, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, False, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, False, "iterm2"),
        ({"LC_TERMINAL": "iTerm2"}, False, "iterm2"),
        ({"TERM_PROGRAM": "WezTerm"}, False, "iterm2"),
        ({"TERM": "foot"}, False, "sixel"),
        ({"TERM": "xterm"}, True, "sixel"),
        ({"TERM": "xterm"}, False, "blocks"),
        ({"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, True, "blocks"),
        ({"TERM": "dumb"}, True, "none"),
        ({"TERM": "xterm-kitty", "POLYGLANCE_GRAPHICS": "blocks"}, False, "blocks"),
        ({"POLYGLANCE_GRAPHICS": "none"}, True, "none"),
    ],
)
def test_the_protocol_of_a_terminal(variables, sixel_known, expected):
    assert protocol(variables, lambda: sixel_known) == expected


def noise(width: int, height: int, colours: int = 256) -> Image.Image:
    values = np.random.default_rng(0).integers(0, colours, (height, width, 3))
    return Image.fromarray((values * (255 // (colours - 1))).astype(np.uint8))


def decoded(text: str) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(base64.b64decode(text))))


def test_kitty_has_chunks_that_join_to_the_picture():
    image = noise(80, 60)
    commands = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", kitty(image, 8, 3))
    assert len(commands) > 1
    assert commands[0][0] == "a=T,f=100,c=8,r=3,m=1"
    assert {keys for keys, _ in commands[1:-1]} <= {"m=1"}
    assert commands[-1][0] == "m=0"
    assert max(len(data) for _, data in commands) == 4096
    assert np.array_equal(decoded("".join(data for _, data in commands)), np.asarray(image))


def test_iterm2_has_the_picture_in_one_command():
    image = noise(20, 10)
    found = re.fullmatch("\x1b]1337;File=([^:]*):(.*)\x07\n", iterm2(image, 2, 1))
    assert "inline=1;width=2;height=1" in found[1]
    assert np.array_equal(decoded(found[2]), np.asarray(image))


def drawn(text: str) -> np.ndarray:
    """What a terminal draws of sixels."""
    head, body = re.fullmatch('\x1bPq"1;1;([0-9;]+?)(#.*)\x1b\\\\\n', text, re.S).groups()
    width, height = map(int, head.split(";"))
    pixels, palette = np.zeros((height + 5, width, 3), int), {}
    top = column = 0
    for match in re.finditer(r"#(\d+)(;2;(\d+);(\d+);(\d+))?|!(\d+)(.)|([$-])|([?-~])", body):
        number, definition, *rgb, count, repeated, control, single = match.groups()
        if definition:
            palette[number] = [round(int(part) * 255 / 100) for part in rgb]
        elif number:
            colour = palette[number]
        elif control:
            column, top = 0, top + 6 * (control == "-")
        else:
            value, wide = ord(repeated or single) - 63, int(count or 1)
            for row in range(6):
                if value >> row & 1:
                    pixels[top + row, column : column + wide] = colour
            column += wide
    return pixels[:height]


def test_sixels_draw_the_picture():
    image = noise(13, 9, colours=3)
    assert np.abs(drawn(sixel(image)) - np.asarray(image, int)).max() <= 2


def test_half_blocks_have_two_pixels_each():
    image = Image.new("RGB", (2, 2))
    image.putdata([(1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12)])
    assert blocks(image) == ("\x1b[38;2;1;2;3;48;2;7;8;9m▀\x1b[38;2;4;5;6;48;2;10;11;12m▀\x1b[0m\n")


def test_half_blocks_leave_the_background_where_there_is_no_image():
    image = Image.new("RGBA", (4, 2))
    image.putdata(
        [
            *((1, 2, 3, 255), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 255)),
            *((0, 0, 0, 0), (4, 5, 6, 255), (0, 0, 0, 0), (0, 0, 0, 255)),
        ]
    )
    assert blocks(image) == (
        "\x1b[0m\x1b[38;2;1;2;3m▀\x1b[0m\x1b[38;2;4;5;6m▄\x1b[0m "
        "\x1b[38;2;0;0;0;48;2;0;0;0m▀\x1b[0m\n"
    )


def test_a_wide_image_has_no_black_bars(tmp_path):
    Image.new("RGB", (60, 20), "white").save(tmp_path / "wide.png")
    rows = next(thumbnails([tmp_path / "wide.png"], "blocks", 80)).splitlines()
    assert "2;0;0;0" not in "".join(rows)
    assert rows[0] == rows[-1] == "\x1b[0m " * 18 + "\x1b[0m"
    assert rows[4].count("▀") == 18


def test_an_unknown_protocol_is_refused():
    with pytest.raises(PolyglanceError, match="POLYGLANCE_GRAPHICS=kity: must be one of kitty, i"):
        protocol({"POLYGLANCE_GRAPHICS": "kity"})
    assert protocol({"POLYGLANCE_GRAPHICS": "", "TERM": "dumb"}) == "none"
    assert protocol({"POLYGLANCE_GRAPHICS": "Sixel"}) == "sixel"


def test_thumbnails_stand_side_by_side_with_ranks(tmp_path):
    paths = [write_picture(tmp_path / f"{n}.png", n) for n in range(9)]
    rows = list(thumbnails([*paths[:3], tmp_path / "gone.png", *paths[4:]], "blocks", 80))
    assert [row.split() for row in rows[1::2]] == [["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    assert rows[0].count("\n") == 9
    assert rows[0].splitlines()[4].count("▀") == 4 * 18
    assert "38;2;128;128;128" in rows[0]  # a picture that is gone is grey
    assert list(thumbnails(paths, "none", 80)) == list(thumbnails(paths, "blocks", 10)) == []
    for name in ("kitty", "iterm2", "sixel"):
        assert next(thumbnails(paths[:1], name, 80)).startswith("\x1b")


def test_only_on_a_terminal(pictures, model_folder, tmp_path):
    """The real command on a pseudo-terminal that answers that it knows sixel."""
    code = "from polyglance.cli import main; main()"
    command = [sys.executable, "-c", code, "search", str(pictures), "dog", "--top", "2"]
    plain = {**os.environ, "OMP_NUM_THREADS": "1", "POLYGLANCE_MODEL": str(model_folder)}
    for name in ("KITTY_WINDOW_ID", "TERM_PROGRAM", "LC_TERMINAL", "TMUX", "POLYGLANCE_GRAPHICS"):
        plain.pop(name, None)
    piped = subprocess.run(command, env=plain, capture_output=True, check=True)
    assert b"\x1b" not in piped.stdout
    shown = on_terminal(command, {**plain, "TERM": "xterm"}, b"\x1b[?62;4;22c")
    assert b"\x1bPq" in shown
    assert b"0.png" in shown or b".PNG" in shown
    hidden = on_terminal([*command, "--no-thumbnails"], {**plain, "TERM": "xterm"}, b"")
    assert b"\x1bPq" not in hidden
    assert b"\xe2\x96\x80" not in hidden


def on_terminal(command: list[str], variables: dict[str, str], answer: bytes) -> bytes:
    """What a program writes to a terminal, which answers questions about its attributes."""
    own, other = pty.openpty()
    process = subprocess.Popen(command, env=variables, stdin=other, stdout=other, stderr=other)
    os.close(other)
    found, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([own], [], [], 1)[0]:
            continue
        try:
            part = os.read(own, 65536)
        except OSError:  # the program has ended
            break
        if not part:
            break
        if b"\x1b[c" in part and answer:
            os.write(own, answer)
        found += part
    assert process.wait(60) == 0, found
    os.close(own)
    return found
