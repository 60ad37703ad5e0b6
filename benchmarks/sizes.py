"""The size of the package: files, lines, and lines of code without docstrings and comments.

python benchmarks/sizes.py [FOLDER ...]
"""

import ast
import io
import statistics
import sys
import tokenize
from pathlib import Path

SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count(path: Path) -> tuple[int, int]:
    """(lines, lines of code) of a source file."""
    source = path.read_text(encoding="utf-8")
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(source.splitlines()), len(code - texts)


def main() -> None:
    """Print a table of the folders, src and tests by default."""
    root = Path(__file__).parents[1]
    folders = [Path(name) for name in sys.argv[1:]] or [root / "src", root / "tests"]
    print(f"{'folder':40}{'files':>7}{'lines':>8}{'code':>8}{'median':>8}{'largest':>9}")
    for folder in folders:
        counts = [count(path) for path in sorted(folder.rglob("*.py"))]
        lines = [total for total, _ in counts]
        code = sum(own for _, own in counts)
        shape = f"{statistics.median(lines):>8.0f}{max(lines):>9}"
        print(f"{folder!s:40}{len(counts):>7}{sum(lines):>8}{code:>8}{shape}")


if __name__ == "__main__":
    main()
