"""The probes, one a file: what is asked of a turn, how the answer is read, how it is scored."""
