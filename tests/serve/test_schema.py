"""Requests made up from the OpenAPI document, valid and not, against the shipped model."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.generation import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    ignored_auth,
    positive_data_acceptance,
    unsupported_method,
)
from starlette.types import ASGIApp  # noqa: E402

from polyglance.serve import Collection, make_app  # noqa: E402
from tests.serve.shipped import shipped_collection  # noqa: E402

EXAMPLES = int(os.environ.get("POLYGLANCE_SCHEMATHESIS", "8"))
"""Of each operation and kind; more are tried on request."""
HOST = {"host": "localhost"}
UNLIKE = [
    # A sentence that the model knows no word of, or an image that is none, fits the document.
    positive_data_acceptance,
    ignored_auth,
    unsupported_method,
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shipped_collection(tmp_path_factory.mktemp("schema"))


@pytest.fixture
def app(collection: Collection) -> ASGIApp:
    """For one test: schemathesis ends it."""
    return make_app(collection)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_as_the_document_says(app: ASGIApp, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", app, headers=HOST)
    tried = []
    for operation in operations(schema):
        strategy = operation.as_strategy(generation_mode=mode)

        @given(case=strategy)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def answered(case) -> None:
            response = case.call_and_validate(headers=HOST, excluded_checks=UNLIKE)
            assert response.status_code < 500
            tried.append(case.path)

        if mode.is_positive or operation.query or operation.path_parameters or operation.body:
            answered()
    assert set(tried) >= {"/v1/search", "/v1/captions", "/v1/embeddings"}


def operations(schema) -> Iterator:
    for found in schema.get_all_operations():
        yield found.ok()
