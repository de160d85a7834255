"""Imports files without vectors in a process of its own, run by ingest.py; prints wall and CPU seconds, MB and steps.

python -m bench.import_load OUT FILE...
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from memory.importing import import_corpus

if __name__ == "__main__":
    out, *files = map(Path, sys.argv[1:])
    began, cpu = time.perf_counter(), time.process_time()
    report = import_corpus(files, out, embedder="none")
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([took, cpu, report.counts["messages"], peak, report.seconds]))
