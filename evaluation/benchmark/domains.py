"""The ten communities of PersonaConvBench with the labels its authors gave them. Source: README of its repository."""

from __future__ import annotations

LABELS = ("style", "engagement", "purpose", "interactivity")
DOMAINS = {
    "worldnews": ("formal", "debate", "education", "low"),
    "science": ("formal", "debate", "education", "medium"),
    "politics": ("formal", "debate", "education", "low"),
    "technology": ("formal", "information", "education", "medium"),
    "gaming": ("casual", "community", "entertainment", "high"),
    "life": ("casual", "community", "socializing", "medium"),
    "movies": ("casual", "opinion", "entertainment", "medium"),
    "books": ("casual", "opinion", "entertainment", "high"),
    "entrepreneur": ("motivational", "supportive", "advice", "high"),
    "art": ("creative", "community", "entertainment", "medium"),
}


def places(found: set[str]) -> list[str]:
    """The communities of a table: the ten in the paper's order, then what else there is, by name."""
    known = [name for name in DOMAINS if name in found]
    return known + sorted(found - set(known))
