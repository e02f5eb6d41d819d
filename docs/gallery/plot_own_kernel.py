"""
A kernel of your own
====================

The kernel says which rows are similar. If you know something of your data, say it in a kernel, which is one
class: its hyperparameters, its values, and their derivatives. Everything else follows. Here it is known that
things repeat: a plant opens its flowers by day and closes them by night, but how long is its day?
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import approx_fprime

from marginwise import posterior, tune
from marginwise.kernels import RBF, Constant, Hyperparameter, Kernel


@dataclass(frozen=True)
class Periodic(Kernel):
    """K(x, x') = k exp[-2 Σ_a sin²(π(x_a - x'_a)/p)/l²] (MacKay, 1998)."""

    has_amplitude = True  # the first hyperparameter is a factor of K
    k: float = 1.0
    period: float = 1.0
    length: float = 1.0

    @property
    def hyperparameters(self):
        # name, value, bounds of every search, range of the logarithm for random starts, default prior (mean, deviation)
        return (
            Hyperparameter("k", (self.k,), (1e-3, 1e5), (-1.0, 1.0), lambda d: (0.0, 1.5)),
            Hyperparameter("p", (self.period,), (0.1, 100.0), (-1.0, 1.0), lambda d: (0.0, 1.0)),
            Hyperparameter("l", (self.length,), (1e-2, 1e3), (-1.0, 1.0), lambda d: (0.0, 1.0)),
        )

    def with_values(self, values):  # another kernel of this kind
        return Periodic(*map(float, values))

    def cross(self, A, B):
        return self.k * np.exp(-2.0 * np.sum(np.sin(self._angles(A, B)) ** 2, axis=2) / self.length**2)

    def diagonal(self, X):
        return np.full(len(X), self.k)

    def contract(self, G, K, A, B):
        # Σ_ij G_ij ∂K_ij/∂log h for each hyperparameter h
        W, angles = G * K, self._angles(A, B)
        by_period = 2.0 * np.vdot(W, np.sum(angles * np.sin(2.0 * angles), axis=2)) / self.length**2
        by_length = 4.0 * np.vdot(W, np.sum(np.sin(angles) ** 2, axis=2)) / self.length**2
        return np.array([W.sum(), by_period, by_length])

    def _angles(self, A, B):
        return (A[:, None] - B) * (np.pi / self.period)


# %%
# First check the derivatives against numerical ones.

rng = np.random.default_rng(0)
A, B, G = rng.normal(size=(5, 1)), rng.normal(size=(7, 1)), rng.normal(size=(5, 7))
kernel = Periodic(1.3, 2.5, 0.7)
numerical = approx_fprime(np.log(kernel.values), lambda logs: np.vdot(G, kernel.with_values(np.exp(logs)).cross(A, B)))
gap = kernel.contract(G, kernel.cross(A, B), A, B) - numerical
print(f"largest difference from numerical derivatives: {np.abs(gap).max():.0e}")

# %%
# Learn the period
# ----------------
# 150 looks at the flowers within six days, at random times; some were noted down wrongly. The true day of this
# plant has 23 hours. The search begins at 24, as anybody would.

days = rng.uniform(0, 6, size=(150, 1))
is_open = np.where(np.sin(2 * np.pi * days[:, 0] * 24 / 23) + 0.4 * rng.normal(size=150) > 0, 1, -1)
kernels = {"periodic": Periodic(period=1.0) + Constant(0.1), "RBF": RBF(1.0, 0.3) + Constant(0.1)}
found = {name: tune(days, is_open, "ep-loo", kernel=kernel) for name, kernel in kernels.items()}
for name, tuning in found.items():
    print(f"{name:9} probability of a look given all others: {np.exp(tuning.value):.2f} (geometric mean)")
print(f"period found: {24 * found['periodic'].hyperparameters.kernel.terms[0].period:.2f} hours")

# %%
# Within the six days both kernels follow the flowers. After that only one of them has an idea: the RBF kernel
# goes back to "don't know", while the periodic one goes on.

ahead = np.linspace(0, 10, 600)[:, None]
figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
for name, tuning in found.items():
    p = posterior(days, is_open, tuning.hyperparameters).predict_proba(ahead)[:, 1]
    axes.plot(ahead[:, 0], p, label=f"{name} kernel")
axes.plot(days, is_open == 1, "|", color="0.3", markersize=9, label="what was seen")
axes.axvline(6, color="0.6", linewidth=1)
axes.set(xlabel="days; nothing was seen to the right of the line", ylabel="probability of open flowers")
axes.set_title("A kernel that knows that things repeat, and one that does not")
axes.legend(loc="center right")
plt.show()
