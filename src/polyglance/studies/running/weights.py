"""Finished runs whose weights are needed and not here, as those of packs: they are run again."""

from collections.abc import Sequence

from polyglance.studies.plan import Plan, Run
from polyglance.studies.running.store import RunFolder


def run_again(plan: Plan, todo: Sequence[Run], folders: dict[str, RunFolder]) -> dict[str, str]:
    """Key → why of the finished runs that have to be trained again.

    Args:
        plan: the study's runs.
        todo: those that are not finished, or lack results.
        folders: of all runs, by key.
    """
    split, found = plan.study.evaluation.split, {}
    for run in todo:
        if _bare(run, folders[run.key]):
            lacking = folders[run.key].lacking(split, run.needs)
            codes = ", ".join(dict.fromkeys(need.language for need in lacking))
            found[run.key] = f"to evaluate it on {codes} as this study does"
    queue = list(todo)
    while queue:
        run = queue.pop()
        if folders[run.key].done and run.key not in found and not run.members:
            continue  # only evaluated
        for key in sorted(run.before - set(found)):
            if _bare(plan.runs[key], folders[key]):
                how = "averages it" if run.members else "starts from it"
                found[key] = f"for {run.label}, which {how}"
                queue.append(plan.runs[key])
    return found


def _bare(run: Run, folder: RunFolder) -> bool:
    return run.recipe is not None and folder.done and not folder.has_weights
