"""An exported model as an object."""

from polyglance.runtime import load, shipped


def test_the_short_form() -> None:
    model = load(shipped())
    assert repr(model) == (
        f"<ExportedModel polyglance-base in {shipped()}, 512 dimensions, "
        f"{len(model.languages)} languages, {model.precision}>"
    )
