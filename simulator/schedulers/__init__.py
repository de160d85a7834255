"""Who speaks next, and to whom: one scheduler a file."""
