"""Other libraries' interfaces over a memory, and theirs under it; one file a library, imported by nobody here."""
