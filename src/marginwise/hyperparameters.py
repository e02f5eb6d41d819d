"""The hyperparameters of the paper's model: its kernel is K = RBF + constant, eq. (rbf) of Gold & Sollich (2003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.kernels.base import Kernel
from marginwise.kernels.borrowed import as_kernel
from marginwise.kernels.constant import Constant
from marginwise.kernels.rbf import RBF
from marginwise.model import Model, Values


class Hyperparameters(Model):
    """Slack penalty, kernel amplitude, kernel offset and length scales: the hyperparameters of the paper's model.

    K(x, x') = k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²] + koff. One length scale stands for all inputs (isotropic kernel);
    otherwise there is one for each input (ARD).

    Parameters
    ----------
    C : float
        Slack penalty, positive.
    k0 : float
        Kernel amplitude, positive.
    koff : float
        Kernel offset, positive: the prior variance of the bias.
    length_scales : float or sequence of float
        One positive length scale for all inputs, or one for each.

    Examples
    --------
    >>> Hyperparameters(C=1, k0=1, koff=0.1, length_scales=[1, 2]).to_vector().round(3)
    array([ 0.   ,  0.   , -2.303,  0.   ,  0.693])
    """

    def __init__(
        self,
        C: float = 1.0,
        k0: float = 1.0,
        koff: float = 0.1,
        length_scales: float | Sequence[float] | Array = 1.0,
    ) -> None:
        super().__init__(C, RBF(k0, length_scales) + Constant(koff))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return summary(self, "C", "k0", "koff", "length_scales")

    def __getstate__(self) -> dict[str, Array]:
        """Return one array, which is stored more compactly than thousands of numbers one by one."""
        return {"values": self.values}

    def __setstate__(self, state: dict[str, Array]) -> None:
        values = state["values"]
        self.__init__(*values[:3].tolist(), values[3:])  # type: ignore[misc]

    @property
    def k0(self) -> float:
        """Kernel amplitude."""
        return self._rbf.k0

    @property
    def koff(self) -> float:
        """Kernel offset."""
        offset = self.kernel.terms[1]
        assert isinstance(offset, Constant)
        return offset.koff

    @property
    def length_scales(self) -> tuple[float, ...]:
        """One length scale for all inputs, or one for each."""
        return self._rbf.length_scales

    @property
    def _rbf(self) -> RBF:
        rbf = self.kernel.terms[0]
        assert isinstance(rbf, RBF)
        return rbf

    def with_values(self, values: Array) -> Self:
        C, k0, koff = values[:3].tolist()
        return type(self)(C, k0, koff, values[3:])

    @classmethod
    def from_vector(cls, vector: Sequence[float] | Array) -> Hyperparameters:
        """Return the hyperparameters with these logarithms, in the order of :meth:`to_vector`."""
        logs = np.asarray(vector)
        if logs.ndim != 1 or logs.size < 4 or logs.dtype.kind not in "iuf":
            raise InvalidInputError("vector", vector, "log C, log k0, log koff and at least one log length scale")
        return cls().with_vector(logs.astype(float))

    @classmethod
    def from_values(cls, value: Hyperparameters | Sequence[float]) -> Hyperparameters:
        """Return ``value`` as Hyperparameters: itself, or from C, k0, koff, l_1 … l_d (not logarithms)."""
        if isinstance(value, cls):
            return value
        values = np.asarray(value, dtype=object)
        if values.ndim != 1 or values.size < 4:
            raise InvalidInputError("hyperparameters", value, "C, k0, koff and at least one length scale")
        C, k0, koff, *length_scales = values
        return cls(C, k0, koff, length_scales)


def as_model(hyperparameters: Model | Values, kernel: Kernel | None = None) -> Model:
    """Return the model that a user means.

    ``hyperparameters`` is a model; or C, k0, koff, l_1 … l_d of the paper's kernel; or with another ``kernel`` its C
    alone, or C and values in the place of the kernel's own.
    """
    kernel = as_kernel(kernel)
    if isinstance(hyperparameters, Model):
        if kernel is not None:
            raise InvalidInputError("kernel", kernel, "None with a model, which has a kernel, or C and a kernel")
        return hyperparameters
    if kernel is None:
        return Hyperparameters.from_values(hyperparameters)  # type: ignore[arg-type]
    if np.ndim(hyperparameters) == 0:
        return Model(hyperparameters, kernel)  # type: ignore[arg-type]
    values = np.asarray(hyperparameters, dtype=object)
    if values.ndim != 1 or values.size < 1 + len(kernel.values):
        raise InvalidInputError("hyperparameters", hyperparameters, "C, and " + ", ".join(kernel.names))
    model = Model(1.0, kernel).with_values(values)
    if len(model.values) != len(values):
        raise InvalidInputError("hyperparameters", hyperparameters, "C, and " + ", ".join(kernel.names))
    return model


def paper_start(n_inputs: int, *, isotropic: bool = False) -> Hyperparameters:
    """Return the fixed start of the paper's random walks (section ztmc): C=1, l_a=1, k0=1, koff=0.1."""
    return Hyperparameters(1.0, 1.0, 0.1, np.ones(1 if isotropic else n_inputs))


def random_start(n_inputs: int, rng: np.random.Generator, *, isotropic: bool = False) -> Hyperparameters:
    """Draw a start of the paper's gradient ascents (section gradient_ascent).

    C is uniform in [0.4, 0.8], ln l_a in [-1, 2], ln k0 in [-1, 1], ln koff in [-2, -1].
    """
    return paper_start(n_inputs, isotropic=isotropic).random_start(rng)
