"""Photographs of pip packages in folders, with dates, places and captions as cameras write them."""

from pathlib import Path
from typing import NamedTuple

from PIL import Image

from polyglance.data.photographs import photographs


class Shot(NamedTuple):
    """Where a photograph lies, and what its file says. Dates and places are made up."""

    folder: str
    taken: str
    caption: str
    place: tuple[float, float] | None = None


SHOTS = {
    "astronaut": Shot("space", "2019:07:20 10:00:00", "A woman in a space suit", (28.57, -80.65)),
    "rocket": Shot("space", "2021:02:18 06:30:00", "A rocket lifts off", (28.61, -80.60)),
    "stars": Shot("space", "2022:07:11 22:00:00", "Galaxies in deep space"),
    "cat": Shot("home/animals", "2023:04:01 18:20:00", "A cat looks into the camera"),
    "coffee": Shot("home", "2023:05:03 08:00:00", "A cup of coffee on a table"),
    "clock": Shot("home", "2023:05:04 12:00:00", "A clock on the wall"),
    "coins": Shot("home", "2020:01:01 00:00:00", "Old coins in rows"),
    "camera": Shot("home", "2018:06:02 15:00:00", "A man with a camera on a tripod"),
    "temple": Shot("travel", "2024:05:31 09:15:00", "A temple in the mountains", (39.99, 116.27)),
    "flower": Shot("travel", "2024:06:01 11:45:00", "A flower in a garden"),
    "grass": Shot("ground", "2017:08:01 12:00:00", "Grass"),
    "gravel": Shot("ground", "2017:08:02 12:00:00", "Gravel"),
    "brick": Shot("ground", "2017:08:03 12:00:00", "A wall of bricks"),
    "retina": Shot("ground", "2016:03:03 12:00:00", "The inside of an eye"),
}
_DESCRIPTION, _EXIF, _GPS, _TAKEN = 0x010E, 0x8769, 0x8825, 36867


def write_photographs(folder: Path) -> None:
    """Write those of the installed packages as JPEGs."""
    found = {one.name: path for path, one in photographs().items()}
    for name, path in found.items():
        shot = SHOTS[name]
        place = folder / shot.folder / f"{name}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.open(path).convert("RGB").save(place, quality=90, exif=_exif(shot))


def paste_beside(left: Path, right: Path, out: Path, side: int = 300) -> None:
    """Write two photographs side by side."""
    both = Image.new("RGB", (2 * side, side))
    for number, path in enumerate((left, right)):
        image = Image.open(path).convert("RGB")
        short = min(image.size)
        box = (image.width - short) // 2, (image.height - short) // 2
        square = image.crop((*box, box[0] + short, box[1] + short)).resize((side, side))
        both.paste(square, (number * side, 0))
    out.parent.mkdir(parents=True, exist_ok=True)
    both.save(out, quality=90)


def _exif(shot: Shot) -> Image.Exif:
    exif = Image.Exif()
    exif[_DESCRIPTION] = shot.caption
    exif.get_ifd(_EXIF)[_TAKEN] = shot.taken
    if shot.place is not None:
        north, east = shot.place
        exif.get_ifd(_GPS).update(
            {
                1: "N" if north >= 0 else "S",
                2: (abs(north), 0.0, 0.0),
                3: "E" if east >= 0 else "W",
                4: (abs(east), 0.0, 0.0),
            }
        )
    return exif
