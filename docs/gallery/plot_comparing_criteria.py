"""
Comparing criteria on your own data
===================================

A criterion is what tuning maximises: some are bounds on the error, some the probability of the data, some the
probability of rows left out. Which is best for your table? Ask the table: hold out a part of the rows, several
times, and see.

The default is ``"ep-loo"``, the probability that is given to each row by the others. Take scikit-learn's breast
cancer data, and every third row of it, to be quick.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate

from marginwise import TunedSVC, criterion_names

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::3], y[::3]
print("criteria there are:", ", ".join(criterion_names()))

# %%
# ``TunedSVC`` is a scikit-learn classifier, so that ``cross_validate`` does the work. All criteria see the same
# folds. The kernel is the paper's, with one length scale for all inputs (``ard=0``), so that nothing but
# the criterion differs.

chosen = ["ep-loo", "ep-evidence", "laplace-evidence", "span", "cross-validation-log-loss"]
folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)
scores = {}
for name in chosen:
    model = TunedSVC(ard=0, kernel="rbf", criterion=name, random_state=0)
    found = cross_validate(model, X, y, cv=folds, scoring=["accuracy", "neg_log_loss"])
    scores[name] = {"error (%)": 100 * (1 - found["test_accuracy"]), "log-loss": -found["test_neg_log_loss"]}
    means = ", ".join(f"{what} {values.mean():.3g}" for what, values in scores[name].items())
    print(f"{name:25} {means}, {found['fit_time'].mean():.2f} s for a fit")

# %%
# Differences are what counts
# ---------------------------
# Folds differ more than criteria do: some rows are hard for all. So compare fold by fold. A difference that is
# not well above its standard error is no difference. (Folds share training rows; the true uncertainty is a
# little larger.)

best = min(chosen, key=lambda name: scores[name]["log-loss"].mean())
for name in chosen:
    gap = scores[name]["log-loss"] - scores[best]["log-loss"]
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    print(f"{name:25} log-loss {gap.mean():.3f} ± {error:.3f} above that of {best}")

# %%
# Pale dots are folds, dark dots their means. Errors are often much alike, while the log-loss, which asks
# whether probabilities are true, tells more. For files, ``marginwise compare table.csv --report page.html``
# makes the same chart, with other classifiers beside.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, what in zip(panels, ("error (%)", "log-loss"), strict=True):
    for place, name in enumerate(chosen):
        values = scores[name][what]
        axes.plot(values, np.full(len(values), place), "o", color="C0", alpha=0.3, markersize=4)
        axes.plot(values.mean(), place, "o", color="C0", markersize=8)
    axes.set(xlabel=what, yticks=range(len(chosen)), yticklabels=chosen)
panels[0].invert_yaxis()
figure.suptitle("Errors and log-losses of five criteria on held-out rows")
plt.show()
