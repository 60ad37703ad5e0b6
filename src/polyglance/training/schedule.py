"""Learning rates over a run."""

import math

from polyglance.recipes.schema import CosineSchedule, StepSchedule, TrainingRecipe


def total_updates(recipe: TrainingRecipe, updates_per_epoch: int) -> int:
    """Updates of a run that no lack of progress stops."""
    return recipe.updates or recipe.epochs * updates_per_epoch


def learning_rate(recipe: TrainingRecipe, update: int, updates_per_epoch: int) -> float:
    """The learning rate of an update.

    Args:
        recipe: of the training.
        update: number of the update, from 0.
        updates_per_epoch: updates of an epoch.

    >>> step = TrainingRecipe(lr=1.0, schedule=StepSchedule(every=2, decay=0.1))
    >>> [round(learning_rate(step, u, 10), 3) for u in (0, 19, 20, 40)]
    [1.0, 1.0, 0.1, 0.01]
    >>> second = TrainingRecipe(lr=1.0, warmup_epoch=1)
    >>> [learning_rate(second, u, 4) for u in (3, 4, 6, 7, 8)]
    [1.0, 0.25, 0.75, 1.0, 1.0]
    """
    rate = recipe.lr * min(1.0, (update + 1) / max(recipe.warmup_updates, 1))
    epoch, place = divmod(update, updates_per_epoch)
    if epoch == recipe.warmup_epoch:
        rate *= (place + 1) / updates_per_epoch
    schedule = recipe.schedule
    if isinstance(schedule, StepSchedule):
        return rate * schedule.decay ** (epoch // schedule.every)
    if isinstance(schedule, CosineSchedule):
        progress = update / total_updates(recipe, updates_per_epoch)
        wave = (1 + math.cos(math.pi * progress)) / 2
        return rate * (schedule.floor + (1 - schedule.floor) * wave)
    return rate
