"""A translation server with LibreTranslate's API."""

import json
import os
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from polyglance.errors import PolyglanceError
from polyglance.translation.base import Translator, translators

KEY = "LIBRETRANSLATE_API_KEY"
"""Environment variable with the API key, if the server needs one."""

TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}
LONGEST_WAIT = 60.0


@translators.register("http")
class HttpTranslator(Translator):
    """`http://HOST:PORT`: posts `{q, source, target}` to `/translate` (LibreTranslate).

    Temporary failures are retried after 1, 2, 4 … seconds, or as the server requests.

    Args:
        url: address of the service.
        timeout: seconds to wait for an answer.
        retries: after temporary failures.
        first_wait: seconds before the first retry; doubled every time.
    """

    def __init__(
        self, url: str, timeout: float = 60, retries: int = 4, first_wait: float = 1
    ) -> None:
        if not urlsplit(url).hostname or "@" in url:
            raise PolyglanceError(
                f"'{url}': not the address of a translator, such as http://host:5000; pass a key "
                f"in the environment variable {KEY}"
            )
        self.name = url.rstrip("/").removesuffix("/translate")
        self.url = f"{self.name}/translate"
        self.timeout, self.retries, self.first_wait = timeout, retries, first_wait

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        body = {"q": texts, "source": source, "target": target, "format": "text"}
        if key := os.environ.get(KEY):
            body["api_key"] = key
        found = self._request(body).get("translatedText")
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise PolyglanceError(
                f"{self.name}: the answer has no list 'translatedText'; is it a LibreTranslate "
                "server?"
            )
        return list(found)

    def _request(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response; if all attempts fail, the last problem as an error."""
        wait = self.first_wait
        for left in reversed(range(self.retries + 1)):
            try:
                return self._post(body)
            except urllib.error.HTTPError as error:
                problem = f"answers {error.code}: {_reason(error)}"
                if error.code not in TRY_AGAIN:
                    break
                wait = _retry_after(error) or wait
            except (OSError, TimeoutError) as error:
                problem = f"cannot be reached ({getattr(error, 'reason', error) or error})"
            if left:
                time.sleep(min(wait, LONGEST_WAIT))
                wait *= 2
        raise PolyglanceError(f"{self.name}: {problem}")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=self.timeout) as answer:
            raw = answer.read()
        try:
            value = json.loads(raw)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise PolyglanceError(f"{self.name}: the answer is not JSON; is the address right?")
        return value


def _reason(error: urllib.error.HTTPError) -> str:
    """The server's error message."""
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """The server's Retry-After, in seconds."""
    value = error.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
