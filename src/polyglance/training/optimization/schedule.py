"""Learning rate schedules and the length of a run."""

import math

from polyglance.recipes.schema import CosineSchedule, StepSchedule, TrainingRecipe

ENOUGH_UPDATES, FEWEST_EPOCHS = 700, 3
"""With `training.epochs=auto`, the minimum of both; docs/recipes.md explains the values."""
EVALUATIONS = 20
"""With `training.epochs=auto` and short epochs, the maximum."""


def epochs_of(recipe: TrainingRecipe, updates_per_epoch: int) -> int:
    """Number of epochs; with `auto`, enough to give a small dataset sufficient updates.

    >>> sized = TrainingRecipe(epochs="auto")
    >>> [epochs_of(sized, updates) for updates in (1, 16, 118, 705)]
    [700, 44, 6, 3]
    """
    if recipe.epochs != "auto":
        return recipe.epochs
    return max(FEWEST_EPOCHS, math.ceil(ENOUGH_UPDATES / updates_per_epoch))


def total_updates(recipe: TrainingRecipe, updates_per_epoch: int) -> int:
    """Updates of a run without early stopping."""
    return recipe.updates or epochs_of(recipe, updates_per_epoch) * updates_per_epoch


def evaluation_interval(recipe: TrainingRecipe, updates_per_epoch: int) -> int:
    """Updates between two evaluations.

    With `training.epochs=auto` short epochs are combined: patience counts evaluations, and must
    not run out before the model can have learned anything.

    >>> sized = TrainingRecipe(epochs="auto")
    >>> [evaluation_interval(sized, updates) for updates in (1, 16, 118)]
    [35, 48, 118]
    >>> evaluation_interval(TrainingRecipe(evaluate_every=7), 118)
    7
    """
    if recipe.evaluate_every:
        return recipe.evaluate_every
    if recipe.epochs != "auto":
        return updates_per_epoch
    least = total_updates(recipe, updates_per_epoch) / EVALUATIONS
    return math.ceil(least / updates_per_epoch) * updates_per_epoch


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
        steps = epoch // schedule.every
        if schedule.every_updates is not None:
            steps = update // schedule.every_updates
        return rate * schedule.decay**steps
    if isinstance(schedule, CosineSchedule):
        progress = update / total_updates(recipe, updates_per_epoch)
        wave = (1 + math.cos(math.pi * progress)) / 2
        return rate * (schedule.floor + (1 - schedule.floor) * wave)
    return rate
