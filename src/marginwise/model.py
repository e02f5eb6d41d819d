"""A model: a kernel, and the slack penalty of the likelihood. Searches move the logarithms of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.kernels.base import Kernel
from marginwise.kernels.values import positive

#: (lowest, highest) slack penalty that a search may reach.
C_BOUNDS = (1e-3, 1e3)

#: C and the kernel's hyperparameters one after the other, or C alone, as users may give them.
Values = float | Sequence[float] | Array

#: The range in which the paper's gradient ascents draw C (section gradient_ascent).
_C_START = (0.4, 0.8)


@dataclass(frozen=True)
class Model:
    """A slack penalty and a kernel: all hyperparameters of a classifier.

    Parameters
    ----------
    C : float
        Slack penalty, positive. Likelihoods without a slack do not depend on it.
    kernel : Kernel
        The covariance of the latent function, with its hyperparameters.

    Examples
    --------
    >>> from marginwise.kernels import Constant, Linear
    >>> model = Model(2.0, Linear(3.0) + Constant(0.5))
    >>> model.names, model.to_vector().round(2)
    (('C', 'klin', 'koff', 'm'), array([ 0.69,  1.1 , -0.69,  0.  ]))
    """

    C: float
    kernel: Kernel

    def __repr__(self) -> str:
        return summary(self)

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", positive("C", self.C))
        if not isinstance(self.kernel, Kernel):
            raise InvalidInputError("kernel", self.kernel, "a marginwise.kernels.Kernel")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # checks what a file holds

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of :meth:`to_vector`, without the logarithm."""
        return ("C", *self.kernel.names)

    @property
    def values(self) -> Array:
        """C and the kernel's hyperparameters."""
        return np.array([self.C, *self.kernel.values])

    def to_vector(self) -> Array:
        """Return log C and the logarithms of the kernel's hyperparameters: the order of every gradient."""
        return np.log(self.values)

    def with_vector(self, logs: Array) -> Self:
        """Return the model with these logarithms, in the order of :meth:`to_vector`."""
        with np.errstate(over="ignore"):  # an infinite value is refused by name
            return self.with_values(np.exp(logs))

    def with_values(self, values: Array) -> Self:
        """Return the model with these values of C and the kernel's hyperparameters."""
        return type(self)(float(values[0]), self.kernel.with_values(values[1:]))

    def with_C(self, C: float) -> Self:
        """Return the model with another slack penalty."""
        return self.with_values(np.array([C, *self.kernel.values]))

    def pruned(self) -> Model:
        """Return the model without terms of its kernel that carry nothing."""
        kernel = self.kernel.pruned()
        return self if kernel is self.kernel else Model(self.C, kernel)

    def single_terms(self) -> tuple[Model, ...]:
        """Return models with one of the terms of its kernel alone, none if there is only one."""
        return tuple(Model(self.C, kernel) for kernel in self.kernel.single_terms())

    def with_C_in_kernel(self) -> Self:
        """Return the model with C = 1 and the same C·K, itself where its kernel or the bounds do not allow that."""
        kernel = self.kernel.scaled(self.C)
        if kernel is None:
            return self
        lower, upper = kernel.bounds
        inside = ((lower <= kernel.values) & (kernel.values <= upper)).all()
        return self.with_values(np.array([1.0, *kernel.values])) if inside else self

    @property
    def log_bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest logarithms that a search may reach."""
        lower, upper = np.log(np.column_stack([C_BOUNDS, self.kernel.bounds]))
        return lower, upper

    @property
    def groups(self) -> tuple[Indices, ...]:
        """Places in the vector of the hyperparameters that each input may have its own of."""
        return tuple(group + 1 for group in self.kernel.groups)

    @property
    def is_isotropic(self) -> bool:
        """Whether one length scale serves all inputs."""
        return self.kernel.is_isotropic

    def as_ard(self, n_inputs: int) -> Self:
        """Return the same model with one length scale for each input written out."""
        return self.with_values(np.array([self.C, *self.kernel.for_inputs(n_inputs).values]))

    def random_start(self, rng: np.random.Generator) -> Self:
        """Draw where a further search begins: C and all logarithms uniform in their ranges.

        For the paper's model these are the ranges of its gradient ascents (section gradient_ascent).
        """
        C = rng.uniform(*_C_START)
        low, high = self.kernel.start_ranges
        return self.with_values(np.array([C, *np.exp(rng.uniform(low, high))]))
