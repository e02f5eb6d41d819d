"""Which of very many columns matter: a quick look at all of them before a kernel sees a few.

With more inputs than rows one length scale for all of them says nothing, and a search over one for each cannot begin.
Here an additive model of smooth functions of single columns is built up, one column after the other, and its columns
are handed to a kernel. Each column is described by polynomials of its ranks; a column is tested with the first of them,
the first two and so on, and the most significant test counts (Neyman's smooth test, data-driven: Ledwina 1994). There
are two ways:

- ``ranked``: forward selection (orthogonal matching pursuit: Pati, Rezaiifar & Krishnaprasad 1993), a column at a time
  by what the ones before it leave unexplained. Products of two columns are tested as well, which finds two columns that
  say nothing on their own. A few columns, all of the same importance.
- ``relevances``: boosting by columns (Bühlmann & Yu 2003), small steps in the place of whole ones, as on the path of
  the lasso. More columns, with a relevance for each.

What is found has been fitted to the labels: whoever judges it must screen again without the rows that judge it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import chdtrc

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.fitting.views import Selection

#: How many columns are worth a try: of the first ones by forward selection, and by boosting.
SIZES, BOOSTED = (1, 2, 3, 6), 20

#: Polynomials of the ranks of an input: a line, a bow, a wave.
_DEGREE = 3

#: What is left of a feature without those before it, as a part of its norm, for it to be one of its own.
_NEW = 1e-3

#: Products are tested while no more columns than this are chosen, and up to so many multiplications for each test.
_PAIRED, _MOST_PRODUCTS = 4, 2e10

#: A product is taken that would be found by chance in fewer tables than this.
_BY_CHANCE = 0.05

#: Columns whose products with all others are computed at a time.
_BLOCK = 1024

#: Boosting: part of the way that a step goes, most steps, and the part of the variance that is left at the end.
_STEP, _MOST_STEPS, _EXPLAINED = 0.1, 300, 1e-3


def selection_names() -> tuple[str, ...]:
    """Return the names of :meth:`Screening.selections`."""
    return (*(f"{size} ranked" for size in SIZES), f"{BOOSTED} smooth", f"{BOOSTED} monotone")


@dataclass(frozen=True, eq=False)
class Screening:
    """The features of all columns, and the labels to explain.

    Features and targets are multiplied by the roots of the rows' weights, so that inner products are weighted sums; the
    features of a column are orthonormal, and orthogonal to the constant.

    Attributes
    ----------
    features : array of shape (p, n)
        Column by column, the lowest degrees first.
    degrees, column : arrays of shape (p,)
        The degree and the column of each feature.
    targets : array of shape (n, K - 1)
        Orthonormal functions of the label.
    constant : array of shape (n,)
        That of norm 1.
    total : float
        The sum of the weights.
    of_inputs : array of int, shape (d,)
        The column of each input.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 500))
    >>> screening = Screening.of(X, (np.abs(X[:, 7]) + X[:, 3] > 0.8).astype(int), np.ones(100))
    >>> sorted(screening.ranked(2).tolist())
    [3, 7]
    """

    features: Array
    degrees: Indices
    column: Indices
    targets: Array
    constant: Array
    total: float
    of_inputs: Indices

    @classmethod
    def of(
        cls, X: Array, labels: Indices, weights: Array, columns: tuple[int, ...] | None = None, degree: int = _DEGREE
    ) -> Self:
        """Return the screening of a table; ``columns`` says which column each input belongs to, if not to its own."""
        n, d = X.shape
        of_inputs = np.arange(d) if columns is None else np.asarray(columns, dtype=np.intp)
        root = np.sqrt(weights)
        constant = root / np.sqrt(weights.sum())
        indicators = root[:, None] * (labels[:, None] == np.unique(labels)[:-1])
        left, values, _ = np.linalg.svd(indicators - np.outer(constant, constant @ indicators), full_matrices=False)
        polynomials = _polynomials(_ranks(X, weights), degree) * root[:, None]
        parts, degrees, column = _orthonormal(polynomials, of_inputs, constant)
        targets = left[:, values > _NEW * np.sqrt(weights.sum() / n)]
        return cls(parts, degrees, column, targets, constant, float(weights.sum()), of_inputs)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.of_inputs.max()) + 1

    def selections(self) -> dict[str, Selection]:
        """Return what is worth a candidate of its own, by name: the same names for any part of the rows.

        Selections may be equal, or empty where no column varies.
        """
        ranked = self.ranked(max(SIZES))
        found = {f"{size} ranked": self.selection(ranked[:size]) for size in SIZES}
        for name, screening in (("smooth", self), ("monotone", self.monotone())):
            relevances = screening.relevances(BOOSTED)
            found[f"{BOOSTED} {name}"] = self.selection(np.flatnonzero(relevances), relevances)
        return found

    def monotone(self) -> Self:
        """Return the screening that looks for monotone effects alone: with few rows it is led astray less."""
        kept = self.degrees == 1
        parts = self.features[kept], self.degrees[kept], self.column[kept]
        return type(self)(*parts, self.targets, self.constant, self.total, self.of_inputs)

    def selection(self, chosen: Indices, relevances: Array | None = None) -> Selection:
        """Return the inputs of some columns, scaled by the relevances if these are given."""
        inputs = np.flatnonzero(np.isin(self.of_inputs, chosen))
        scales = np.ones(len(inputs)) if relevances is None else relevances[self.of_inputs[inputs]]
        return Selection(inputs, scales / np.sqrt(np.mean(scales**2)) if len(inputs) else scales)

    def ranked(self, size: int) -> Indices:
        """Return up to so many columns, the most important first: forward selection.

        It ends early where half as many features are taken as there are rows.
        """
        chosen: list[int] = []
        basis, residual = self.constant[None, :], self.targets
        usable = self.features.size > 0 and residual.size > 0
        while usable and len(chosen) < min(size, self.n_columns) and 2 * len(basis) < len(self.constant):
            safe_point()
            squares = (self.features @ residual) ** 2
            free = self.total - len(basis)
            scores, counts = self._scores(squares, residual, free)
            scores[np.isin(self.column, chosen)] = -np.inf
            best = int(scores.argmax())
            if not np.isfinite(scores[best]):
                break
            new, added = [int(self.column[best])], self.features[best + 1 - counts[best] : best + 1]
            if len(chosen) < _PAIRED:
                by_chance = _tail(self._statistic(squares, residual, free)[best], counts[best] * residual.shape[1])
                pair = self._pair(residual, free, min(by_chance * len(scores), _BY_CHANCE))
                if pair is not None:
                    new, added = pair
            chosen += [one for one in new if one not in chosen]
            basis, residual = _without(basis, residual, added)
        return np.array(chosen[:size], dtype=np.intp)

    def relevances(self, size: int) -> Array:
        """Return how much of the labels each column explains, 0 for all but up to so many columns: boosting.

        The size of the column's function in an additive model that ends before one column more would enter.
        """
        coefficients = np.zeros((len(self.column), self.targets.shape[1]))
        slopes, residual = self.features @ self.targets, self.targets
        entered: dict[int, Array] = {}  # products of the features of a column with all features
        for _ in range(_MOST_STEPS if coefficients.size else 0):
            safe_point()
            scores, counts = self._scores(slopes**2, residual, self.total)
            best = int(scores.argmax())
            own = np.arange(best + 1 - counts[best], best + 1)
            number = int(self.column[best])
            if number not in entered:
                if len(entered) >= size:
                    break
                everything = self.features[self.column == number]
                entered[number] = self.features @ everything.T
            step = _STEP * slopes[own]
            coefficients[own] += step
            residual = residual - self.features[own].T @ step
            slopes = slopes - entered[number][:, : len(own)] @ step
            if (residual**2).sum() < _EXPLAINED * residual.shape[1]:
                break
        return np.sqrt(np.bincount(self.column, (coefficients**2).sum(axis=1), self.n_columns))

    def _statistic(self, squares: Array, residual: Array, free: float) -> Array:
        """Return χ² of the tests of each feature together with those before it in its column.

        Bartlett's form of the likelihood ratio, -(ν - ½(j + 2)) Σ_k ln(1 - R²_jk), ν the degrees of freedom.
        """
        shares = squares / np.maximum((residual**2).sum(axis=0), np.finfo(float).tiny)
        sums = np.cumsum(shares, axis=0)
        first = np.searchsorted(self.column, self.column)
        explained = np.minimum(sums - (sums - shares)[first], 1.0 - 1e-12)
        count = 1 + np.arange(len(self.column)) - first
        result: Array = -np.maximum(free - 0.5 * (count + 2), 1.0) * np.log1p(-explained).sum(axis=1)
        return result

    def _scores(self, squares: Array, residual: Array, free: float) -> tuple[Array, Indices]:
        """Return how significant each of these tests is, and how many features it has.

        As a normal deviate, (χ²/m)^⅓ = 1 - 2/(9m) + z √(2/(9m)) for m degrees of freedom (Wilson & Hilferty 1931).
        """
        count = 1 + np.arange(len(self.column)) - np.searchsorted(self.column, self.column)
        part = 2.0 / (9.0 * count * residual.shape[1])
        ratio = self._statistic(squares, residual, free) / (count * residual.shape[1])
        return (np.cbrt(ratio) - (1.0 - part)) / np.sqrt(part), count

    def _pair(self, residual: Array, free: float, by_chance: float) -> tuple[list[int], Array] | None:
        """Return the two columns whose product explains most, and its features, if chance would do it less often.

        Products of the first feature of each column; ``by_chance`` counts all tests.
        """
        lines = np.flatnonzero(np.diff(self.column, prepend=-1))
        if len(lines) < 2 or residual.size * float(len(lines)) ** 2 > _MOST_PRODUCTS:
            return None
        U = np.divide(self.features[lines], self.constant, dtype=np.float32)
        best, place = -1.0, (0, 0)
        for start in range(0, len(lines), _BLOCK):
            block = U[start : start + _BLOCK]
            total = np.zeros((len(block), len(lines) - start), dtype=np.float32)
            for target in residual.T:
                total += ((block * (target * self.constant).astype(np.float32)) @ U[start:].T) ** 2
            total[np.tril_indices(len(block))] = 0.0
            a, b = divmod(int(total.argmax()), total.shape[1])
            if total[a, b] > best:
                best, place = float(total[a, b]), (start + a, start + b)
        first, second = self.features[lines[list(place)]]
        product = first * second / self.constant
        product = product - self.constant * (self.constant @ product)
        norm = np.linalg.norm(product)
        if norm == 0.0:
            return None
        shares = (product / norm @ residual) ** 2 / np.maximum((residual**2).sum(axis=0), np.finfo(float).tiny)
        statistic = -max(free - 1.5, 1.0) * np.log1p(-np.minimum(shares, 1.0 - 1e-12)).sum()
        if _tail(statistic, residual.shape[1]) * 0.5 * len(lines) * (len(lines) - 1) >= by_chance:
            return None
        return [int(self.column[lines[one]]) for one in place], np.stack([first, second, product])


def _ranks(X: Array, weights: Array) -> Array:
    """Return mean ranks from -1 to 1, shape of X; a row of weight 2 counts as two."""
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    upto = np.cumsum(weights[order], axis=0)
    before = upto - weights[order]
    equal = ordered[1:] == ordered[:-1]
    for i in range(1, len(X)):  # equal cells share their first place
        before[i] = np.where(equal[i - 1], before[i - 1], before[i])
    for i in range(len(X) - 2, -1, -1):  # and their last one
        upto[i] = np.where(equal[i], upto[i + 1], upto[i])
    ranks = np.empty_like(X)
    np.put_along_axis(ranks, order, (before + upto) / weights.sum() - 1.0, axis=0)
    return ranks


def _polynomials(u: Array, degree: int) -> Array:
    """Return Legendre polynomials from the first to ``degree``, shape (degree, n, d)."""
    values = [np.ones_like(u), u]
    for k in range(1, degree):
        values.append(((2 * k + 1) * u * values[k] - k * values[k - 1]) / (k + 1))
    return np.array(values[1 : degree + 1])


def _orthonormal(polynomials: Array, of_inputs: Indices, constant: Array) -> tuple[Array, Indices, Indices]:
    """Return orthonormal features of the columns, orthogonal to the constant, with their degrees and columns.

    What is nothing new, as the square of an input of two values, is left out.
    """
    degree, n, _ = polynomials.shape
    parts, degrees, column = [], [], []
    widths = np.bincount(of_inputs)
    for width in np.unique(widths[widths > 0]):
        own = np.flatnonzero(widths == width)
        inputs = np.argsort(of_inputs, kind="stable")[np.isin(np.sort(of_inputs), own)].reshape(len(own), width)
        values = polynomials[:, :, inputs].transpose(2, 1, 0, 3).reshape(len(own), n, degree * width)
        ones = np.broadcast_to(constant[:, None], (len(own), n, 1))
        Q, R = np.linalg.qr(np.concatenate([ones, values], axis=2))
        left = np.abs(np.diagonal(R, axis1=1, axis2=2))[:, 1:]
        new = left > _NEW * np.linalg.norm(values, axis=1)[:, : left.shape[1]]
        parts.append(Q[:, :, 1:].transpose(0, 2, 1)[new])
        place = np.nonzero(new)
        column.append(own[place[0]])
        degrees.append(1 + place[1] // width)
    numbers = np.concatenate(column)
    order = np.argsort(numbers, kind="stable")
    return np.concatenate(parts)[order], np.concatenate(degrees)[order], numbers[order]


def _without(basis: Array, residual: Array, added: Array) -> tuple[Array, Array]:
    """Return the orthonormal basis with these features, and the residual without them."""
    for feature in added:
        rest = feature
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        norm = np.linalg.norm(rest)
        if norm > _NEW * np.linalg.norm(feature):
            basis = np.vstack([basis, rest / norm])
            residual = residual - np.outer(basis[-1], basis[-1] @ residual)
    return basis, residual


def _tail(statistic: float, freedom: int) -> float:
    """Return how often χ² is larger by chance."""
    return float(chdtrc(freedom, statistic))
