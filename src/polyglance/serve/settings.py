"""Settings of the service from environment variables that begin with POLYGLANCE_."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from polyglance.errors import PolyglanceError

PREFIX = "POLYGLANCE_"


class ServeSettings(BaseSettings):
    """Settings of `polyglance serve`; the command line takes precedence.

    `POLYGLANCE_MODEL` and `POLYGLANCE_CACHE`, which other commands also use, are read where
    they are needed.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore")

    place: Path | None = Field(None, description="library or folder that is served")
    host: str = Field("127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8000, description="port to listen on")
    token: str | None = Field(None, description="token that requests must send")
    token_file: Path | None = Field(None, description="file that contains the token")
    rate: Annotated[int, Field(ge=1)] | None = Field(
        None, description="requests per client and minute"
    )
    allow_origin: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="websites whose pages may send requests, separated by spaces"
    )
    log_queries: bool = Field(False, description="also log queries")
    reload: bool = Field(True, description="reload the library or folder when it changes")
    watch: bool = Field(False, description="also sync the library when its folders change")

    @field_validator("allow_origin", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(value.split()) if isinstance(value, str) else value


def serve_settings(**given: Any) -> ServeSettings:
    """The settings of the environment, overridden by arguments.

    Args:
        given: by name; None if not passed.
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
