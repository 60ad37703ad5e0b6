"""Evaluation of text–image retrieval in both directions."""

from polyglance.evaluation.encoder import Encoder
from polyglance.evaluation.ensemble import Ensemble
from polyglance.evaluation.models import Evaluation, evaluate_models
from polyglance.evaluation.options import EvaluateOptions
from polyglance.evaluation.protocol import EncodedLanguage, evaluate
from polyglance.evaluation.ranking.bootstrap import Outcome, interval, paired
from polyglance.evaluation.ranking.metrics import Metrics, fold_metrics, rank_folds
from polyglance.evaluation.ranking.ranks import Ranks, rank_both
from polyglance.evaluation.reports.comparison import Comparison, aggregate, compare
from polyglance.evaluation.reports.report import Report, load_report
from polyglance.evaluation.translations.translated import Translated
from polyglance.evaluation.translations.translation import Translation
from polyglance.numerics.similarity import cosine, dot, normalise, order

__all__ = [
    "Comparison",
    "EncodedLanguage",
    "Encoder",
    "Ensemble",
    "EvaluateOptions",
    "Evaluation",
    "Metrics",
    "Outcome",
    "Ranks",
    "Report",
    "Translated",
    "Translation",
    "aggregate",
    "compare",
    "cosine",
    "dot",
    "evaluate",
    "evaluate_models",
    "fold_metrics",
    "interval",
    "load_report",
    "normalise",
    "order",
    "paired",
    "rank_both",
    "rank_folds",
]
