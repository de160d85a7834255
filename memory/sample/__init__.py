"""The shipped sample: three small Stack Exchange meta sites as dumps, CC BY-SA; see README.md and the licence here."""

from pathlib import Path


def paths() -> list[Path]:
    """The two dump files, comments and submissions: 5,189 messages of 540 pseudonymous people in 642 threads."""
    folder = Path(__file__).parent
    return [folder / "RC_stackexchange.zst", folder / "RS_stackexchange.zst"]
