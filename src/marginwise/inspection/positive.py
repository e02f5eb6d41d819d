"""Which class is meant where one is."""

from __future__ import annotations

from typing import Any

from marginwise.errors import InvalidInputError


def positive_place(classes: Any, positive_class: Any) -> int | None:
    """Return the place of the class that is meant: by default the second of two, and of more none (None).

    >>> positive_place(["no", "yes"], None), positive_place(["a", "b", "c"], "a"), positive_place(["a", "b", "c"], None)
    (1, 0, None)
    """
    labels = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    if positive_class is None:
        return 1 if len(labels) == 2 else None
    if positive_class not in labels:
        raise InvalidInputError("positive_class", positive_class, f"one of the classes {labels}, or None")
    return labels.index(positive_class)
