"""Statistics of items that come in groups: intervals, resamples of people, paired tests, power. Knows no metric"""

from evaluation.stats.intervals import FEW, Interval, clustered_se, interval, share, wilson
from evaluation.stats.paired import (
    benjamini_hochberg,
    cliffs_delta,
    correlation,
    d_z,
    holm,
    mcnemar,
    odds_ratio,
    sign_flip,
)
from evaluation.stats.power import Plan, design_effect, icc, needed
from evaluation.stats.resampling import bootstrap, resampled

__all__ = [
    "FEW",
    "Interval",
    "Plan",
    "benjamini_hochberg",
    "bootstrap",
    "cliffs_delta",
    "clustered_se",
    "correlation",
    "d_z",
    "design_effect",
    "holm",
    "icc",
    "interval",
    "mcnemar",
    "needed",
    "odds_ratio",
    "resampled",
    "share",
    "sign_flip",
    "wilson",
]
