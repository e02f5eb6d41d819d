"""
A study of your own
===================

To compare methods seriously takes many runs: several data sets, several methods, several seeds; and a table
that survives a crash, so that the run can go on where it stopped. ``marginwise.study`` does this for the
paper's experiments, and for yours.

Here two made-up tables meet three methods: a search on a criterion, ``TunedSVC`` as it comes, and one that this
page defines.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.neighbors import KNeighborsClassifier

from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.study import Effort, Outcome, Plan, open_store, run_study, search_on, tables
from marginwise.study.paper import methods

folder = Path(tempfile.mkdtemp())
for name, (X, y) in {
    "moons": make_moons(150, noise=0.3, random_state=0),
    "circles": make_circles(150, noise=0.15, factor=0.6, random_state=0),
}.items():
    rows = [f"{a:.4f},{b:.4f},{'yes' if label else 'no'}" for (a, b), label in zip(X, y, strict=True)]
    (folder / f"{name}.csv").write_text("\n".join(["a,b,label", *rows]))

# %%
# A method is anything with a ``run``. Its attributes are settings, which the store remembers; what it returns
# is recorded. No method sees the test labels but to count its errors.


@dataclass(frozen=True)
class Neighbours:
    """The majority among the nearest training rows."""

    k: int = 5

    def run(self, data, trial, effort):
        model = KNeighborsClassifier(self.k).fit(data.X_train, data.y_train)
        return Outcome(message="predicted", test_error=float(np.mean(model.predict(data.X_test) != data.y_test)))


# %%
# The plan: which data, which methods, how often. A third of the rows of each table is drawn for testing, the
# same in all trials, and the seed of a trial is a hash of its name, so that neither order nor the number of
# processes changes a number.

plan = Plan(
    "mine",
    datasets=tables(folder / "moons.csv", folder / "circles.csv", target="label"),
    methods={"neighbours": Neighbours(), "ep-loo": search_on(EPLeaveOneOut()), **methods("tuned-svc")},
    trials=3,
    effort=Effort(),
)
store_url = f"sqlite:///{folder}/mine.sqlite"
print("complete:", run_study(plan, store_url, n_jobs=1).complete)

# %%
# Run it again: everything is there, nothing is computed. After a crash the same call would go on with what is
# missing.

print("trials run the second time:", run_study(plan, store_url, n_jobs=1).run)

# %%
# The store is an SQLite file; its rows are plain records.

with open_store(store_url) as store:
    rows = list(store.rows())
errors = {}
for row in rows:
    errors.setdefault((row.dataset, row.method), []).append(100 * row.test_error)
for (dataset, method), found in errors.items():
    print(f"{dataset:8} {method:11} {np.mean(found):5.1f} % test error, mean of {len(found)} trials")

# %%
# Pale dots are trials, dark dots their means. Trials of a search begin at different places: where they lie on
# one dot, it does not matter where a search begins. ``marginwise study report`` makes such figures and tables
# of any store.

names = list(dict.fromkeys(method for _, method in errors))
figure, panels = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
for axes, dataset in zip(panels, dict.fromkeys(dataset for dataset, _ in errors), strict=True):
    for place, method in enumerate(names):
        found = errors[dataset, method]
        axes.plot(found, [place] * len(found), "o", color="C0", alpha=0.3, markersize=4)
        axes.plot(np.mean(found), place, "o", color="C0", markersize=8)
    axes.set(xlabel="test error (%)", xlim=(0, None), yticks=range(len(names)), yticklabels=names)
    axes.set_title(dataset)
panels[0].invert_yaxis()
figure.suptitle("Test errors of three methods on two data sets")
plt.show()
