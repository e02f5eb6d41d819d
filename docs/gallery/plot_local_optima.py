"""
Local optima along a line
=========================

Gold & Sollich (2003) found that simple criteria have many local optima: searches that start elsewhere end
elsewhere. Are two ends really two optima, or one that was not quite reached? Their answer was a picture: walk
straight from one end to the other, and look at the criterion on the way. If it gets worse in between, there is
a valley to cross, and the two are separate. This example draws that figure.
"""

import matplotlib.pyplot as plt

from marginwise import load_benchmark, scan_line, tune
from marginwise.plots import LineDisplay

data = load_benchmark("crabs")
X, y = data.X_train, data.y_train
print(f"{len(y)} crabs of both sexes, {data.n_inputs} measurements of each")

# %%
# Two criteria that estimate the same thing, the probability of the labels: Laplace's approximation, which is
# simple, and expectation propagation (EP), which is nearly exact. Both are searched from the same six starts.

searches = {
    name: tune(X, y, name, "quadratic", restarts=5, random_state=0) for name in ("laplace-evidence", "ep-evidence")
}
for name, tuning in searches.items():
    print(f"{name:16} ends at", ", ".join(f"{run.value:.3f}" for run in tuning.restarts))

# %%
# Now the lines, from the best end to three others. ``barrier`` is by how much the criterion gets worse on the
# way, measured from the worse of the two ends: 0 if there is a way without a descent.

figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for axes, (name, tuning) in zip(panels, searches.items(), strict=True):
    best, *others = sorted(tuning.restarts, key=lambda run: -run.value)
    for number, other in enumerate(others[-3:], start=1):
        line = scan_line([name], X, y, best.hyperparameters, other.hyperparameters, "quadratic", n_points=41)
        LineDisplay(line).plot(ax=axes)
        print(f"{name:16} line {number}: from {best.value:.3f} to {other.value:.3f}, barrier {line.barrier(name):.3f}")
    axes.set_title(name)
    axes.set(xlabel="from the best end (0) to another one (1)")
figure.suptitle("Two criteria along straight lines between the ends of searches; up is better")
plt.show()

# %%
# Every line begins at the best end, on the left. Where it dips below its right end, a search that only ever
# climbs can't get from there to the best: the two are separate optima. Laplace's evidence has several such
# ends. Those of EP agree, but for one where the search was lost at once: a score of ln 1/2, a model that knows
# nothing. So use several starts (``restarts=``), whatever the criterion.
#
# And beware of an evidence of 0. It would be a probability of 1 for all labels, which cannot be: Laplace's
# approximation says so where it breaks down, as EP shows.
