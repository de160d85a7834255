"""Metrics of a text beside the true one: overlap of words and characters, closeness of vectors, length."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.recall import Vectors

TEXT_LIMIT = 5_000  # characters read of a text: ROUGE-L is quadratic (0.4 s for two texts of this length)


def overlaps(truth: str, guess: str) -> dict[str, float]:
    """Every metric of two texts that needs no vectors, by name; each 0 to 1 but for `length`."""
    rouge1, rouge_l = rouge(truth, guess)
    return {
        "rouge1": rouge1,
        "rougeL": rouge_l,
        "chrf": chrf(truth, guess),
        "bleu": bleu(truth, guess),
        "bleu_nltk": bleu_nltk(truth, guess),
        "meteor": meteor(truth, guess),
        "rouge1_unicode": rouge1_unicode(truth, guess),
        "length": length(truth, guess),
    }


def worst(truth: str) -> dict[str, float]:
    """What an answer that failed gets: that of no words at all."""
    return {**dict.fromkeys(overlaps("a", "a"), 0.0), "length": length(truth, "")}


def rouge(truth: str, guess: str) -> tuple[float, float]:
    """(ROUGE-1 F, ROUGE-L F) by rouge-score with its stemmer; 0 where a side has none of a-z and 0-9."""
    found = _scorer().score(truth[:TEXT_LIMIT], guess[:TEXT_LIMIT])
    return float(found["rouge1"].fmeasure), float(found["rougeL"].fmeasure)


def rouge1_unicode(truth: str, guess: str) -> float:
    """ROUGE-1 F over words of any script and single signs, without stems: emoji and CJK count."""
    found = _any_script().score(truth[:TEXT_LIMIT], guess[:TEXT_LIMIT])
    return float(found["rouge1"].fmeasure)


def chrf(truth: str, guess: str) -> float:
    """chrF (beta 2, character 1- to 6-grams), 0 to 1; 0 where a side is empty."""
    from sacrebleu.metrics.chrf import CHRF

    return float(_made(CHRF).sentence_score(guess[:TEXT_LIMIT], [truth[:TEXT_LIMIT]]).score) / 100


def bleu(truth: str, guess: str) -> float:
    """Sentence BLEU by sacrebleu with effective order, 0 to 1, so that a short equal text gets 1."""
    from sacrebleu.metrics.bleu import BLEU

    return float(_made(BLEU, effective_order=True).sentence_score(guess[:TEXT_LIMIT], [truth[:TEXT_LIMIT]]).score) / 100


def bleu_nltk(truth: str, guess: str) -> float:
    """BLEU-4 by NLTK with smoothing method 1, 0 to 1; an equal text of two words gets 0.32."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu  # type: ignore[import-untyped]

    said = _split(guess[:TEXT_LIMIT])
    if not said:
        return 0.0
    return float(sentence_bleu([_split(truth[:TEXT_LIMIT])], said, smoothing_function=SmoothingFunction().method1))


def meteor(truth: str, guess: str, split: Callable[[str], Sequence[str]] | None = None) -> float:
    """METEOR by NLTK (alpha 0.9, beta 3, gamma 0.5), 0 to 1; an equal single word gets 0.5. `split`: into tokens; None:
    by Treebank's rules.

    Synonyms count only where NLTK's WordNet is on this machine: see the stamp.
    """
    from nltk.translate.meteor_score import single_meteor_score  # type: ignore[import-untyped]

    true, said = (split or _split)(truth[:TEXT_LIMIT]), (split or _split)(guess[:TEXT_LIMIT])
    if not true or not said:
        return 0.0
    return float(single_meteor_score(true, said, stemmer=_stemmer(), wordnet=_wordnet()))


def length(truth: str, guess: str) -> float:
    """ln((words + 1) / (true words + 1)): 0 for as long, above for longer; finite where one says nothing."""
    return math.log((len(guess.split()) + 1) / (len(truth.split()) + 1))


def cosine(truth: Vectors, guess: Vectors) -> NDArray[np.float64]:
    """Cosine of each row with its counterpart, float64 (n,) in [-1, 1]; 0 where a row is all zero."""
    a, b = truth.astype(np.float64), guess.astype(np.float64)
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dot = np.einsum("ij,ij->i", a, b)
    found: NDArray[np.float64] = np.divide(dot, size, out=np.zeros_like(dot), where=size > 0)
    return found.clip(-1.0, 1.0)


def wordnet_name() -> str:
    """ "WordNet 3.0" or "no WordNet": which synonyms METEOR knows here."""
    found = _wordnet()
    return "no WordNet" if isinstance(found, _NoSynonyms) else f"WordNet {found.get_version()}"


class _NoSynonyms:
    """Stands for WordNet where its data are not on this machine: exact words and stems only."""

    def synsets(self, word: str) -> list[Any]:
        return []


class _Stemmer:
    """Porter's, with each word stemmed once: it took 40 % of the time."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]

        self.stem = lru_cache(maxsize=50_000)(PorterStemmer().stem)


class _Words:
    """rouge-score's own tokenizer, with stems."""

    def tokenize(self, text: str) -> Any:
        from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]

        return tokenize(text, _stemmer())


class _AnyScript:
    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"[^\W_]+|[^\w\s]|_", text.casefold())


@cache
def _stemmer() -> _Stemmer:
    return _Stemmer()


@cache
def _scorer() -> Any:  # rouge-score has no types, and takes seconds to import
    from rouge_score import rouge_scorer  # type: ignore[import-untyped]

    return rouge_scorer.RougeScorer(["rouge1", "rougeL"], tokenizer=_Words())


@cache
def _any_script() -> Any:
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(["rouge1"], tokenizer=_AnyScript())


@cache
def _made(kind: Any, **options: bool) -> Any:
    return kind(**options)


@lru_cache(maxsize=10_000)
def _split(text: str) -> tuple[str, ...]:
    """NLTK's Treebank rules, which need no data (word_tokenize does; for a single sentence they are the same)."""
    return tuple(_treebank().tokenize(text))


@cache
def _treebank() -> Any:
    from nltk.tokenize import TreebankWordTokenizer  # type: ignore[import-untyped]

    return TreebankWordTokenizer()


@cache
def _wordnet() -> Any:
    from nltk.corpus import wordnet  # type: ignore[import-untyped]

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return _NoSynonyms()
    return wordnet
