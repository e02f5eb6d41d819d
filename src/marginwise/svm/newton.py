"""The box-constrained quadratic programme to machine accuracy: coordinate descent finds the free set, Newton ends.

On the right set F of free coordinates the solution is one linear system in Q_FF. Coordinate descent brings F nearly
right in a few cheap steps; a Newton step on F, clipped to the box, gives the solution or a better F. Each step
decreases the objective, so the method can't cycle. The factor of Q_FF is kept and follows small changes of F.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import compiled_vector
from marginwise.covariance.rows import principal_block
from marginwise.errors import NotConvergedError
from marginwise.svm.cholesky import append, remove, solve_in_place
from marginwise.svm.coordinate import Programme, add_row, descend, largest_violation

#: Change of a margin (whose natural size is 1) below which coordinate descent hands over to Newton. A coarser value
#: leaves too many coordinates on the wrong side; a finer one costs more than the factorisation that it saves
#: (``benchmarks/solver.py``).
COARSE = 0.1

#: Rounds of descent and Newton. Ordinary problems need 2 to 10, nearly singular ones up to 100.
_MAX_ROUNDS = 300

#: Ridges tried in turn, in units of the largest diagonal element, when Q_FF is not numerically positive definite.
_RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-4)

_DONE, _FACTORISE, _STUCK = 0, 1, 2


class FreeSystem:
    """The matrix Q and the Cholesky factor of its block on the free coordinates.

    ``Q`` is given without what quadratic slack adds to its diagonal; ``diagonal`` is the whole diagonal.
    """

    def __init__(self, Q: Array, diagonal: Array) -> None:
        self.Q, self.diagonal = Q, diagonal
        self.order: Indices = np.empty(0, dtype=np.intp)
        self.size = 0
        self.factor: Array = np.empty((0, 0))
        self.ridge = 0.0

    @property
    def members(self) -> Indices:
        """The coordinates that the factor belongs to."""
        return self.order[: self.size]

    def factorise(self, free: Indices) -> None:
        """Make the factor of this free set, with the smallest ridge that makes it definite in floating point."""
        m = len(free)
        capacity = m + 16 + m // 8
        block = principal_block(self.Q, free, self.diagonal)
        unit = block.diagonal().max()
        for ridge in _RIDGES:
            if ridge:
                np.fill_diagonal(block, self.diagonal[free] + ridge * unit)
            upper, info = lapack.dpotrf(block.T, lower=0, clean=0)
            if info == 0:
                break
        else:
            raise NotConvergedError(
                "the Gram matrix has a negative eigenvalue that is not rounding; an SVM needs a positive "
                "semidefinite one, K(x, x') = φ(x)·φ(x')"
            )
        self.ridge = ridge * unit
        self.factor = np.empty((capacity, capacity))
        self.factor[:m, :m] = upper.T
        self.order = np.empty(capacity, dtype=np.intp)
        self.order[:m] = free
        self.size = m

    def inherit(self, other: FreeSystem, old_labels: Indices, new_labels: Indices) -> None:
        """Take over the factor of another working set if all its members are in this one; labels ascend."""
        labels = old_labels[other.members]
        places = np.searchsorted(new_labels, labels)
        places[places == len(new_labels)] = 0
        if np.array_equal(new_labels[places], labels):
            self.order = other.order.copy()
            self.order[: other.size] = places
            self.factor, self.size, self.ridge = other.factor, other.size, other.ridge


def minimise(system: FreeSystem, lower: Array, upper: Array, beta: Array, gradient: Array, tolerance: float) -> bool:
    """Minimise ½βᵀQβ - yᵀβ in the box, in place, from ``beta`` with ``gradient`` = Qβ - y.

    Ends when the optimality conditions hold to ``tolerance`` (True), or when rounding leaves no step that improves.
    """
    programme = Programme(system.Q, system.diagonal, lower, upper)
    rounds = 0
    descend_first = True
    while True:
        outcome, rounds, system.size = _iterate(
            programme,
            beta,
            gradient,
            system.factor,
            system.order,
            system.size,
            system.ridge,
            tolerance,
            rounds,
            descend_first,
        )
        if outcome != _FACTORISE:
            return outcome == _DONE
        system.factorise(np.flatnonzero((beta > lower) & (beta < upper)))
        descend_first = False


@compiled_vector
def _iterate(
    programme: Programme,
    beta: Array,
    gradient: Array,
    L: Array,
    order: Indices,
    m: int,
    ridge: float,
    tolerance: float,
    rounds: int,
    descend_first: bool,
) -> tuple[int, int, int]:
    """Alternate descent and Newton until done or until a new factorisation is needed; return (outcome, rounds, m)."""
    lower, upper = programme.lower, programme.upper
    n = len(beta)
    while rounds < _MAX_ROUNDS:
        steps = 1
        if descend_first:
            error = largest_violation(lower, upper, beta, gradient)
            if error <= tolerance:
                return _DONE, rounds, m
            steps = descend(programme, beta, gradient, min(COARSE, 0.3 * error), 2 * n)
            rounds += 1
        descend_first = True
        decreased = False
        while True:
            fits, m = _follow(programme, beta, L, order, m, ridge)
            if not fits:
                return _FACTORISE, rounds, m
            if m == 0:
                break
            moved, inside = _newton_step(programme, beta, gradient, L, order, m)
            decreased = decreased or moved
            if inside or not moved:
                break
        if steps == 0 and not decreased:
            return _STUCK, rounds, m
    return _STUCK, rounds, m


@compiled_vector
def _follow(  # noqa: C901  four plain loops over the rows of the factor
    programme: Programme, beta: Array, L: Array, order: Indices, m: int, ridge: float
) -> tuple[bool, int]:
    """Bring the factor to the present free set row by row; False if making it anew is cheaper or needed."""
    Q, diagonal, lower, upper = programme
    free = (beta > lower) & (beta < upper)
    count = np.sum(free)
    if count == 0:
        return True, 0
    gone = 0
    for i in range(m):
        if not free[order[i]]:
            gone += 1
    new = count - (m - gone)
    # One row costs about m² slow operations, a factorisation m³/3 fast ones and a fixed overhead.
    if gone + new > 8 + m // 128 or count > len(order):
        return False, m
    for i in range(m - 1, -1, -1):
        if not free[order[i]]:
            remove(L, order, m, i)
            m -= 1
    for i in range(m):
        free[order[i]] = False
    for j in range(len(free)):
        if free[j]:
            if not append(L, order, m, Q, j, diagonal[j] + ridge):
                return False, m
            m += 1
    return True, m


@compiled_vector
def _newton_step(  # noqa: C901  one path from bound to bound, on arrays that its steps share
    programme: Programme, beta: Array, gradient: Array, L: Array, order: Indices, m: int
) -> tuple[bool, bool]:
    """Go from bound to bound along the Newton direction, as long as that decreases the objective.

    A coordinate that reaches its bound stays there while the others go on: the path of the step clipped to the box,
    followed to its first minimum. Returns whether the objective decreased, and whether no bound was reached.
    """
    Q, diagonal, lower, upper = programme
    free = order[:m]
    step = np.empty(m)
    for i in range(m):
        step[i] = -gradient[free[i]]
    solve_in_place(L, m, step)
    image = np.zeros(len(beta))  # Q times the step
    for i in range(m):
        k = free[i]
        add_row(Q[k], step[i], image)
        image[k] += step[i] * (diagonal[k] - Q[k, k])
    moved, inside = False, True
    for _ in range(m):
        slope, curvature, reach, first = 0.0, 0.0, np.inf, 0
        for i in range(m):
            k = free[i]
            slope += step[i] * gradient[k]
            curvature += step[i] * image[k]
            if step[i] != 0.0:
                room = (upper[k] - beta[k]) / step[i] if step[i] > 0.0 else (lower[k] - beta[k]) / step[i]
                if room < reach:
                    reach, first = room, i
        if slope >= 0.0:
            break
        length = reach  # where Q is singular and nothing curves, the way down goes to the next bound
        if curvature > 0.0:
            length = min(-slope / curvature, reach)
        if length == np.inf:
            break
        for i in range(m):
            beta[free[i]] += length * step[i]
        add_row(image, length, gradient)
        moved = True
        if length < reach:
            break
        inside = False
        k = free[first]
        beta[k] = upper[k] if step[first] > 0.0 else lower[k]
        add_row(Q[k], -step[first], image)
        image[k] -= step[first] * (diagonal[k] - Q[k, k])
        step[first] = 0.0
    return moved, inside
