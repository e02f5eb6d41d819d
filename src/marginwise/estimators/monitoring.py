"""What has become of a model since it was tuned, and whether tuning again would pay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._wording import numbered
from marginwise.fitting.drift import LEVEL, DriftTest

#: Times as many rows as a model was tuned on from which on tuning again is advised.
_GROWN = 2.0

#: Part of the rows that an alarm was of that must be there for it to stand.
_STANDING = 0.5


@dataclass(frozen=True, eq=False)
class Updates:
    """What has become of a model since it was tuned.

    Attributes
    ----------
    n_tuned, n_added, n_forgotten : int
        Rows that it was tuned on, that were added, and that were forgotten since; rows of weight 0 don't count.
    expected_log_loss, expected_log_loss_se : float
        What was expected on new rows when it was tuned, and its standard error.
    first_added : int
        The number of the first row that was added, in the order in which rows were given.
    log_loss, log_loss_se : float
        Of the rows that were added, as predicted before the model had them; NaN if there are none.
    test : DriftTest
        Whether that is more than chance explains.
    drift_since : int or None
        From about which row on, if there was an alarm.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from marginwise import TunedSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TunedSVC(ard=0, random_state=0).fit(X[::2], y[::2]).update(X[1::4], y[1::4])
    >>> print(model.updates_)
    tuned on 75 rows, 38 added since
    >>> model.updates_.drift_since is None
    True
    """

    n_tuned: int
    expected_log_loss: float
    expected_log_loss_se: float
    first_added: int
    n_added: int = 0
    n_forgotten: int = 0
    log_loss: float = np.nan
    log_loss_se: float = np.nan
    test: DriftTest = field(default_factory=DriftTest)
    drift_since: int | None = None

    def __str__(self) -> str:
        changes = [f"{n:,} {what}" for n, what in ((self.n_added, "added"), (self.n_forgotten, "forgotten")) if n]
        return f"tuned on {numbered(self.n_tuned, 'row')}, {' and '.join(changes) or 'none added'} since"

    @property
    def drift(self) -> str:
        """What to say if new rows are predicted worse than was expected, otherwise nothing."""
        if self.drift_since is None:
            return ""
        begin = self.drift_since - self.first_added + 1
        return (
            f"of the rows added, those from about number {begin} on are predicted worse than the rows before them: the "
            f"log-loss of all rows added is {self.log_loss:.3f} (± {self.log_loss_se:.3f}), as predicted before the "
            f"model had them, and {self.expected_log_loss:.3f} (± {self.expected_log_loss_se:.3f}) was expected; "
            f"without drift such an alarm has a probability below {100 * LEVEL:.0f} %; look at these rows, and "
            "refit on those that still hold"
        )

    @property
    def growth(self) -> str:
        """What to say if rows have become many more than the model was tuned on, otherwise nothing."""
        now = self.n_tuned + self.n_added - self.n_forgotten
        if now < _GROWN * self.n_tuned:
            return ""
        return (
            f"the model was tuned on {numbered(self.n_tuned, 'row')} and has {now:,} now: so many tell more about "
            "hyperparameters, and refitting on all of them would pay"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that there is to say."""
        return tuple(filter(None, (self.drift, self.growth)))

    def after(self, rows: JudgedRows, n_forgotten: int) -> Updates:
        """Return the same after an update: some rows forgotten, and all that there are judged."""
        new = np.arange(len(rows.losses)) >= rows.n_before
        mean, error = rows.mean(self.first_added)
        test, since = self.test, self.drift_since
        if since is not None and not rows.there[since : rows.n_before].mean() > _STANDING:
            test, since = DriftTest(), None  # what the alarm was of is forgotten
        test = test.after(*rows.compared(), rows.n_before)
        return replace(
            self,
            n_added=self.n_added + int(np.count_nonzero(new & rows.there)),
            n_forgotten=self.n_forgotten + n_forgotten,
            log_loss=mean,
            log_loss_se=error,
            test=test,
            drift_since=test.since if since is None and test.alarm else since,
        )


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """All rows in the order in which they were given, each with its log-loss without it.

    Attributes
    ----------
    losses : array of shape (n,)
        NaN where nothing is known.
    weights : array of shape (n,)
    places : array of int, shape (n,)
        The distinct row that each is a copy of, -1 for none.
    examples : array of shape (n,)
        How many examples that row stands for.
    groups : array of int, shape (n,), or None
    n_before : int
        How many of the rows were given before this update.
    """

    losses: Array
    weights: Array
    places: Indices
    examples: Array
    groups: Indices | None
    n_before: int

    @property
    def there(self) -> Mask:
        """Which rows the model has."""
        return self.places >= 0

    def mean(self, first: int) -> tuple[float, float]:
        """Return the mean loss from a row on, and its standard error; rows of a group err together."""
        chosen = np.flatnonzero((np.arange(len(self.losses)) >= first) & np.isfinite(self.losses) & self.there)
        if not len(chosen):
            return np.nan, np.nan
        losses, shares = self.losses[chosen], self.weights[chosen] / self.weights[chosen].sum()
        mean = float(shares @ losses)
        units = self.places[chosen] if self.groups is None else self.groups[chosen]
        numbers = np.unique(units, return_inverse=True)[1].reshape(-1)
        return mean, float(np.linalg.norm(np.bincount(numbers, shares * (losses - mean))))

    def compared(self) -> tuple[Array, Array]:
        """Return the losses that a test compares, before this update and in it, one for each independent example.

        Copies of a row are one example with it, unless repetitions are believed. With groups there is one for each, its
        mean, and a group that was known before is none of the new ones.
        """
        first = np.zeros(len(self.places), dtype=bool)
        first[np.unique(self.places, return_index=True)[1]] = True
        used = np.flatnonzero(self.there & np.isfinite(self.losses) & (first | (self.examples > 1.0)))
        losses, place = self.losses[used], used
        if self.groups is not None:
            _, place, numbers = np.unique(self.groups[used], return_index=True, return_inverse=True)
            numbers = numbers.reshape(-1)
            losses = np.bincount(numbers, losses) / np.bincount(numbers)
            order = np.argsort(place)
            losses, place = losses[order], used[place[order]]
        return losses[place < self.n_before], losses[place >= self.n_before]
