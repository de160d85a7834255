"""BERTScore by its authors' package, where that is installed and a model folder is named. Nothing is downloaded.

Source: Zhang et al. 2020, BERTScore (1904.09675). What it gave with real weights: docs/decisions/0020.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from memory.errors import BadInput, Missing, clip

BERTSCORE = "bertscore"  # the option of the task and the item of its metric
Score = Callable[[list[str], list[str]], Sequence[float]]  # answers, true texts -> F of each pair


def checked(text: str, package: str = "bert_score") -> tuple[Path, int]:
    """The folder and the layer of "FOLDER@LAYER".

    Raises: BadInput where it is not of that form, or the model has no such layer. Missing: no model, or no package.
    """
    name, _, layer = text.rpartition("@")
    if not name or not layer.isdecimal() or int(layer) < 1:
        raise BadInput(f"bertscore is a model folder and its layer, like models/roberta-large@17; found {clip(text)!r}")
    folder = Path(name).absolute()
    if not (folder / "config.json").is_file():
        raise Missing(
            f"{clip(name)} holds no model (no config.json), and none is downloaded; give the path of its folder"
        )
    try:
        config = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise BadInput(f"config.json in {clip(name)} is no model's; give the folder of a whole model") from None
    layers = int(config.get("num_hidden_layers") or config.get("n_layers") or layer)
    if int(layer) > layers:
        raise BadInput(f"the model in {clip(name)} has {layers} layers; found layer {layer} of bertscore")
    if find_spec(package) is None:
        raise Missing("BERTScore is computed by bert-score, which is not here; install it with: pip install bert-score")
    return folder, int(layer)


def opened(text: str) -> Score:
    """The F of BERTScore by the model "FOLDER@LAYER", without rescaling or weights of words. Raises as checked."""
    folder, layer = checked(text)
    os.environ["HF_HUB_OFFLINE"] = "1"  # the package has no way to say that the folder is all there is
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=str(folder), num_layers=layer, idf=False, rescale_with_baseline=False)

    def score(said: list[str], true: list[str]) -> list[float]:
        _, _, f = scorer.score(said, true)
        return [float(value) for value in f]

    return score


def scores(pairs: Sequence[tuple[str, str]], score: Score) -> dict[tuple[str, str], float]:
    """F of each (true, said), asked once; 0 where a side is empty."""
    unique = sorted({(true, said) for true, said in pairs if true.strip() and said.strip()})
    found = score([said for _, said in unique], [true for true, _ in unique]) if unique else []
    return dict.fromkeys(pairs, 0.0) | dict(zip(unique, map(float, found), strict=True))


@cache
def model_stamp(text: str) -> str:
    """ "roberta-large@1a2b3c4d, layer 17": the folder's name and the hash of its weights, wherever they lie."""
    name, _, layer = text.rpartition("@")
    digest = hashlib.sha256()
    for file in sorted(f for kind in ("*.safetensors", "*.bin") for f in Path(name).glob(kind)):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"{Path(name).name}@{digest.hexdigest()[:8]}, layer {layer}"
