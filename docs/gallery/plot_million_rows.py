"""
A million rows
==============

An exact SVM compares each row with every other, which is hopeless for a million of them. ``TunedSVC`` therefore
lets a few hundred *inducing inputs* stand for all rows, by itself, from some thousand rows on. Nothing else
changes for you. Tuning is done on a part of the rows, and then all of them are used once.

So that this page is built in seconds, it stops at 20,000 rows. The real size is one environment variable away::

    ROWS=1000000 python docs/gallery/plot_million_rows.py
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np

from marginwise import TunedSVC

ROWS = int(os.environ.get("ROWS", "20000"))


def table(n, seed):
    """Return two inputs that twist around each other, and labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    turn, side = rng.uniform(0.3, 2.0, n), rng.integers(0, 2, n)
    angle = 2 * np.pi * turn + np.pi * side
    X = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) + 0.17 * rng.normal(size=(n, 2))
    return X, np.where(side == 1, "right", "left")


X_test, y_test = table(10_000, seed=1)

# %%
# Two numbers say how much of the full effort is made: ``rank`` is the largest number of inducing inputs, and
# ``subset`` that of the rows to tune on. By default they are larger; here they are small, for speed.

X, y = table(ROWS, seed=0)
sizes = np.geomspace(500, ROWS, 4).astype(int)
seconds, errors = [], []
for n in sizes:
    start = time.process_time()
    model = TunedSVC(ard=0, rank=100, subset=1000, random_state=0).fit(X[:n], y[:n])
    seconds.append(time.process_time() - start)
    errors.append(100 * (1 - model.score(X_test, y_test)))
    print(f"{n:9,} rows: {seconds[-1]:5.1f} s of processor time, test error {errors[-1]:.1f} %")

points = model.ensemble_.n_points
print(f"{points} inducing inputs stand for {ROWS:,} rows")
print(
    f"from {sizes[-2]:,} to {ROWS:,} rows: {ROWS / sizes[-2]:.1f} times as many, {seconds[-1] / seconds[-2]:.1f} "
    "times the time"
)

# %%
# More rows make the error fall until nothing is left to learn but noise. At first the time grows more slowly
# than the number of rows, because tuning always takes the same number of them; with very many rows it grows as
# they do.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
shown = np.random.default_rng(0).permutation(ROWS)[:3000]
for label in model.classes_:
    mine = shown[y[shown] == label]
    left.plot(X[mine, 0], X[mine, 1], ".", markersize=2, label=label)
left.set(xlabel="first input", ylabel="second input", aspect="equal")
left.set_title("3,000 of the rows")
left.legend()
right.semilogx(sizes, errors, "o-", color="C2")
right.set(xlabel="rows", ylabel="test error (%), solid")
right.set_title("Error and time, by rows")
times = right.twinx()
times.semilogx(sizes, seconds, "s--", color="C3")
times.set(ylabel="processor time (s), dashed", ylim=(0, None))
times.grid(visible=False)
figure.suptitle("Two spirals: what more rows cost, and what they gain")
plt.show()
