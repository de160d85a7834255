"""Readers of dumps and corpora, one format a file: each yields Messages and counts what it repaired or dropped."""
