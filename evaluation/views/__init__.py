"""Tables of one run besides the analyses, as Sheets made of scored rows or turns, one subject a file."""
