"""The positive class."""

from __future__ import annotations

from typing import Any

from marginwise.errors import InvalidInputError


def positive_place(classes: Any, positive_class: Any) -> int | None:
    """Return the index of the positive class: by default the second of two, None if there are more.

    >>> positive_place(["no", "yes"], None), positive_place(["a", "b", "c"], "a"), positive_place(["a", "b", "c"], None)
    (1, 0, None)
    """
    labels = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    if positive_class is None:
        return 1 if len(labels) == 2 else None
    if positive_class not in labels:
        raise InvalidInputError("positive_class", positive_class, f"one of the classes {labels}, or None")
    return labels.index(positive_class)
