"""Readers of dumps and corpora, one format a file: `recognises` tells by the first bytes, `read` yields Rows.

A reader drops or repairs what it must and notes each in the Tally; it never stops at a broken row.
"""
