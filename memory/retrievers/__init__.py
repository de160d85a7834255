"""Retrieval strategies, one a file: a Policy called with a History and a query, giving Recalled items, best first."""
