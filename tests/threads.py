"""A small made-up corpus that all tests share: five people, four threads, later ones answering each other."""

from __future__ import annotations

from memory.message import Message, Thread

PEOPLE = ("ann", "bob", "cat", "dan", "eve")


def message(
    id: str, thread: str, parent: str | None, author: str | None, time: int, text: str | None = None
) -> Message:
    words = text if text is not None else f"{author} says {id} about gears and chains."
    kind = "post" if parent is None else "comment"
    return Message(id, thread, parent, author, time, words, score=time % 7 - 2, place="cycling", kind=kind)


def thread(number: int) -> Thread:
    """A post and seven replies, two levels deep, one second apart from 1000 * number on."""
    name, at = f"t{number}", 1000 * number
    tree = [None, 0, 0, 1, 3, 0, 5, 4]
    return Thread.of(
        name,
        (
            message(
                f"{name}m{n}", name, None if parent is None else f"{name}m{parent}", PEOPLE[(n + number) % 5], at + n
            )
            for n, parent in enumerate(tree)
        ),
    )


THREADS = tuple(thread(n) for n in range(1, 5))
