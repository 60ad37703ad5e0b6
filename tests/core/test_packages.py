"""Importing optional packages: each failure is one sentence."""

from pathlib import Path

import pytest

from polyglance.core.packages import import_package
from polyglance.errors import PolyglanceError


def test_a_missing_package_says_what_to_install() -> None:
    with pytest.raises(PolyglanceError, match="run 'pip install nonesuch'"):
        import_package("nonesuch")


@pytest.mark.parametrize("kind", ["RuntimeError", "OSError", "AttributeError"])
def test_a_package_compiled_for_another_torch_is_one_sentence(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = f'raise {kind}("operator torchvision::nms does not exist\\nat line 3")\n'
    (tmp_path / "mismatched.py").write_text(error)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PolyglanceError) as raised:
        import_package("mismatched")
    assert str(raised.value) == (
        "mismatched: cannot be imported (operator torchvision::nms does not exist); install a "
        "version of it that matches the installed torch"
    )
