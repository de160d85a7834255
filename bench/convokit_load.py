"""Loads a ConvoKit folder and prints the seconds it took, without imports; run by ingest.py in ConvoKit's own Python.

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
    began = time.perf_counter()
    loaded = made(filename=sys.argv[1], preload_vectors=[])
    took = time.perf_counter() - began
    found = sum(1 for _ in loaded.iter_utterances())
    print(json.dumps([took, found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
