"""The machines and code versions of a report's runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from polyglance.studies.plan import Line, Plan
from polyglance.studies.running.execute import Options
from polyglance.studies.running.machine import DIRTY
from polyglance.studies.running.store import RunOutcome

UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Origin:
    """Machine and commit of every finished run, by key."""

    machines: dict[str, str] = field(default_factory=dict)
    commits: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, options: Options) -> "Origin":
        """As recorded by the runs."""
        return cls.of_runs({key: options.folder(run).outcome() for key, run in plan.runs.items()})

    @classmethod
    def of_runs(cls, outcomes: Mapping[str, RunOutcome | None]) -> "Origin":
        """From runs by key; those of earlier versions have no record."""
        done = {key: one for key, one in outcomes.items() if one is not None}
        return cls(
            {key: one.machine or UNKNOWN for key, one in done.items()},
            {key: one.commit or UNKNOWN for key, one in done.items()},
        )

    @property
    def letters(self) -> dict[str, str]:
        """Machine → letter, the most used first; none if there is only one machine."""
        counts = Counter(self.machines.values())
        names = sorted(counts, key=lambda name: (-counts[name], name))
        marks = [*ascii_uppercase, *(f"Z{n}" for n in range(1, len(names)))]
        return dict(zip(names, marks, strict=False)) if len(names) > 1 else {}

    def of_line(self, line: Line) -> list[str]:
        """The machines of a line's runs."""
        keys = [key for source in line.sources for key in source.values()]
        return sorted({self.machines[key] for key in keys if key in self.machines})

    def mark(self, line: Line) -> str:
        """The letters of a line's machines."""
        return "+".join(sorted(self.letters.get(name, "") for name in self.of_line(line)))

    @property
    def note(self) -> str:
        """The legend of the letters; "" if there are none."""
        if not self.letters:
            return ""
        named = ", ".join(f"{mark} {name}" for name, mark in self.letters.items())
        return (
            f"Machines: {named}. One seed gives results that differ a little between processors, "
            "as sums are rounded in another order; compare rows of one machine first"
        )

    @property
    def code(self) -> str:
        """The commits of the runs, with their numbers."""
        counts = Counter(self.commits.values())
        return ", ".join(f"{name} ({n})" for name, n in sorted(counts.items()))

    def drafts(self, commit: str) -> list[str]:
        """Reasons why a report is a draft, if any.

        Args:
            commit: of the code that writes the report.
        """
        found = []
        if commit.endswith(DIRTY):
            found.append(f"written by code with uncommitted changes ({commit})")
        if dirty := [name for name in self.commits.values() if name.endswith(DIRTY)]:
            found.append(
                f"{len(dirty)} of {len(self.commits)} runs were made by code with uncommitted "
                f"changes ({', '.join(sorted(set(dirty)))})"
            )
        return found


def with_machines(rows: Sequence[list[str]], lines: Sequence[Line], origin: Origin) -> None:
    """Add the machines to a table's rows, the first of which are `lines`; others stay empty.

    Args:
        rows: cell texts, changed in place.
        lines: shown in the rows.
        origin: of the runs.
    """
    marks = [origin.mark(line) for line in lines]
    for row, mark in zip(rows, [*marks, *[""] * (len(rows) - len(marks))], strict=True):
        row.append(mark)
