"""Which memory brings back what belongs there? No model: what people answered, and what they had written before.

python examples/recall_quality.py [CORPUS]. By default the shipped sample; the controls stand in every table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.recall_quality import show_quality
from evaluation.running import import_sample

MEMORIES = ("bm25", "dense")


def main(corpus: Path, people: int = 100) -> None:
    found = show_quality(corpus, MEMORIES, "1,5,10", people=people)
    for memory in MEMORIES:
        for row in found.rows:
            if (row.policy, row.k) == (memory, 5):
                beats = row.over_random.low > 0 and row.over_recency.low > 0
                print(
                    f"{row.measure}: {memory} {'beats' if beats else 'does not beat'} both controls, nDCG@5 {row.ndcg}"
                )


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(guarded(lambda: main(Path(given[0]) if given else import_sample(Path("demo/corpus")))))
