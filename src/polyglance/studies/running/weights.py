"""Finished runs whose weights are needed but missing, as in packs: they are trained again."""

from collections.abc import Sequence

from polyglance.studies.plan import Plan, Run
from polyglance.studies.running.store import RunFolder


def runs_to_repeat(
    plan: Plan, todo: Sequence[Run], folders: dict[str, RunFolder]
) -> dict[str, str]:
    """Key → reason, for finished runs that have to be trained again.

    Args:
        plan: the study's runs.
        todo: runs that are not finished, or lack results.
        folders: of all runs, by key.
    """
    split, found = plan.study.evaluation.split, {}
    for run in todo:
        if _lacks_weights(run, folders[run.key]):
            lacking = folders[run.key].lacking(split, run.needs)
            codes = ", ".join(dict.fromkeys(need.language for need in lacking))
            found[run.key] = f"to evaluate it on {codes} as this study does"
    queue = list(todo)
    while queue:
        run = queue.pop()
        if folders[run.key].done and run.key not in found and not run.members:
            continue  # is only evaluated
        for key in sorted(run.dependencies - set(found)):
            if _lacks_weights(plan.runs[key], folders[key]):
                how = "averages it" if run.members else "starts from it"
                found[key] = f"for {run.label}, which {how}"
                queue.append(plan.runs[key])
    return found


def _lacks_weights(run: Run, folder: RunFolder) -> bool:
    return run.recipe is not None and folder.done and not folder.has_weights
