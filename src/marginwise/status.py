"""How a numerical method ended: a code and a message, turned into an error or a warning in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from marginwise.errors import ConvergenceWarning, NotConvergedError


class Code(StrEnum):
    """How a method ended, for programs; the message is for people.

    Examples
    --------
    >>> from marginwise.status import Code, Status
    >>> Status(False, "no luck").code is Code.FAILED
    True
    """

    CONVERGED = "converged"
    STOPPED = "stopped"  # as asked for, by a callback or by held-out rows
    BUDGET = "budget"  # evaluations or seconds were used up
    INTERRUPTED = "interrupted"  # by Ctrl-C
    IMPRECISE = "imprecise"  # all went well, but sampling was too short
    FAILED = "failed"


@dataclass(frozen=True)
class Status:
    """Whether a method ended as it should, with a message and a code that say how.

    Parameters
    ----------
    ok : bool
        Whether the method ended as it should; a status is true if it is.
    message : str
        How it ended, for people.
    code : Code, optional
        How it ended, for programs.

    Examples
    --------
    >>> Status(True, "converged").code
    <Code.CONVERGED: 'converged'>
    """

    ok: bool
    message: str
    code: Code | None = None

    def __post_init__(self) -> None:
        if self.code is None:
            object.__setattr__(self, "code", Code.CONVERGED if self.ok else Code.FAILED)

    def __bool__(self) -> bool:
        return self.ok

    def __getstate__(self) -> dict[str, Any]:
        return {"ok": self.ok, "message": self.message, "code": str(self.code)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["ok"], state["message"], Code(state["code"]))  # type: ignore[misc]

    def warn(self) -> None:
        """Warn with the message if the method did not end as it should."""
        if not self.ok:
            warnings.warn(self.message, ConvergenceWarning, stacklevel=3)

    def require(self) -> None:
        """Raise with the message if the method did not end as it should."""
        if not self.ok:
            raise NotConvergedError(self.message)


CONVERGED = Status(True, "converged")
