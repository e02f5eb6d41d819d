"""How a numerical method ended: data with a message, turned into an error or a warning in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from marginwise.errors import ConvergenceWarning, NotConvergedError


@dataclass(frozen=True)
class Status:
    """Whether a method ended as it should, and in words how it ended."""

    ok: bool
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def warn(self) -> None:
        """Warn with the message if the method did not end as it should."""
        if not self.ok:
            warnings.warn(self.message, ConvergenceWarning, stacklevel=3)

    def require(self) -> None:
        """Raise with the message if the method did not end as it should."""
        if not self.ok:
            raise NotConvergedError(self.message)


CONVERGED = Status(True, "converged")
