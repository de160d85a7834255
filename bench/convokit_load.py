"""Loads a ConvoKit folder in ConvoKit's own Python, run by ingest.py; prints wall and CPU seconds without imports.

python -m bench.convokit_load FOLDER
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time

if __name__ == "__main__":
    made = importlib.import_module("convokit").Corpus
    began, cpu = time.perf_counter(), time.process_time()
    loaded = made(filename=sys.argv[1], preload_vectors=[])
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    found = sum(1 for _ in loaded.iter_utterances())
    print(json.dumps([took, cpu, found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
