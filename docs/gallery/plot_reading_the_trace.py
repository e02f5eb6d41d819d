"""
Reading the trace of a search
=============================

Tuning is a search: the hyperparameters move, and a score, the criterion, should rise until nothing more is to
be gained. The trace keeps every step. Looking at it answers three questions. Has the search ended by itself?
Was it a long way? Did a hyperparameter run away?
"""

import warnings

import matplotlib.pyplot as plt

from marginwise import load_benchmark, tune
from marginwise.errors import ConvergenceWarning
from marginwise.plots import TraceDisplay

data = load_benchmark("pima")

# %%
# A search that went well
# -----------------------
# ``tune`` returns what it found, and how the search ended, in words.

good = tune(data.X_train, data.y_train, "ep-evidence", isotropic=True)
print(good.status.message)
print(
    {
        name: round(value, 3)
        for name, value in zip(good.hyperparameters.names, good.hyperparameters.values.tolist(), strict=True)
    }
)

# %%
# The trace is a table: one row for each evaluation of the criterion.

table = good.trace.to_frame()
print(table[["C", "k0", "koff", "l", "value", "accepted"]].round(3).iloc[[0, 1, 2, -2, -1]])

# %%
# A search that was cut short
# ---------------------------
# With a budget of three evaluations it can't arrive. The status says so; estimators would warn with the same
# words.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    short = tune(data.X_train, data.y_train, "ep-evidence", isotropic=True, max_evaluations=3)
print(short.status.message)
print(f"score {short.value:.4f} instead of {good.value:.4f}")

# %%
# A hyperparameter that ran away
# ------------------------------
# The Laplace approximation of the evidence has a flaw: it can be driven to its upper limit of 0 by ever larger
# amplitudes. The score looks perfect, and means nothing.

runaway = tune(data.X_train, data.y_train, "laplace-evidence", isotropic=True)
print(runaway.status.message)
print(f"score {runaway.value:.4f} at k0 = {runaway.hyperparameters.k0:,.0f}")
print(f"the first search ended at k0 = {good.hyperparameters.k0:.1f}")

# %%
# Above the criterion, below the hyperparameters, on a logarithmic scale. On the left both level off: done. In
# the middle both are still on the way: give it a larger ``max_evaluations``. On the right the score is at its
# limit while one line goes up and up: take another criterion, or a ``Prior``.

figure, panels = plt.subplots(2, 3, figsize=(10, 5), sharex="col", layout="constrained")
titles = ["arrived", "cut short", "ran away"]
for column, search, title in zip(panels.T, (good, short, runaway), titles, strict=True):
    TraceDisplay(search.trace).plot(ax=column)
    column[0].set_title(title)
figure.suptitle("Three searches: criterion above, hyperparameters below")
plt.show()
