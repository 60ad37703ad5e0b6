"""How well a model finds pictures with words and words with pictures."""

from polyglance.evaluation.bootstrap import Outcome, interval, paired
from polyglance.evaluation.comparison import Comparison, aggregate, compare
from polyglance.evaluation.ensemble import Ensemble
from polyglance.evaluation.metrics import Metrics, fold_metrics, rank_folds
from polyglance.evaluation.protocol import Encoder, evaluate
from polyglance.evaluation.ranks import Ranks, rank_both
from polyglance.evaluation.report import Report, load_report
from polyglance.evaluation.similarity import cosine, dot, normalise, order

__all__ = [
    "Comparison",
    "Encoder",
    "Ensemble",
    "Metrics",
    "Outcome",
    "Ranks",
    "Report",
    "aggregate",
    "compare",
    "cosine",
    "dot",
    "evaluate",
    "fold_metrics",
    "interval",
    "load_report",
    "normalise",
    "order",
    "paired",
    "rank_both",
    "rank_folds",
]
