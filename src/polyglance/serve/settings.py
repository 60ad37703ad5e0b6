"""What the service is told by the environment: variables that begin with POLYGLANCE_."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from polyglance.errors import PolyglanceError

PREFIX = "POLYGLANCE_"


class ServeSettings(BaseSettings):
    """Settings of `polyglance serve`; what the command line says comes first.

    `POLYGLANCE_MODEL` and `POLYGLANCE_CACHE`, which other commands know as well, are read where
    they are used.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore")

    place: Path | None = Field(None, description="library or folder that is served")
    host: str = Field("127.0.0.1", description="address to listen at")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8000, description="port to listen at")
    token: str | None = Field(None, description="what requests must carry")
    token_file: Path | None = Field(None, description="file with the token, in place of it")
    rate: Annotated[int, Field(ge=1)] | None = Field(
        None, description="requests that a client may send in a minute"
    )
    allow_origin: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="web sites whose pages may ask, with spaces between them"
    )
    log_queries: bool = Field(False, description="whether what is asked is logged as well")
    reload: bool = Field(True, description="whether what changes is read again")

    @field_validator("allow_origin", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(value.split()) if isinstance(value, str) else value


def serve_settings(**given: Any) -> ServeSettings:
    """The settings of the environment, and in their place what was given.

    Args:
        given: by name; None was not given.
    """
    named = {name: value for name, value in given.items() if value is not None}
    try:
        found = ServeSettings(**named)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        said = first["msg"][:1].lower() + first["msg"][1:]
        raise PolyglanceError(f"{PREFIX}{name.upper()}: {said}") from None
    if found.token is None and found.token_file is not None:
        return found.model_copy(update={"token": _read(found.token_file)})
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PolyglanceError(f"{path}: the token cannot be read ({error})") from None
