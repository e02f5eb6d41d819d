"""
Categories and gaps
===================

Real tables hold words, and some cells are empty. ``TunedSVC`` takes them as they are: no one-hot columns, no
imputation. This example shows what it makes of a word that it has never seen, and of a cell that is missing.

The table is made up: seedlings survive if they get enough water, and how much is enough depends on the species.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from marginwise import TunedSVC

rng = np.random.default_rng(0)
n = 400
need = {"fern": 6.0, "oak": 4.0, "cactus": 1.0}
table = pd.DataFrame({"species": rng.choice(list(need), n), "water": rng.uniform(0, 10, n)})
surplus = table["water"] - table["species"].map(need) + rng.normal(size=n)
lives = np.where(surplus > 0, "lives", "dies")

# %%
# Some cells get lost: a tenth of the species at random, and the amount of water more often where it was little,
# because nobody wrote down a zero. So the gap itself tells something.

table.loc[rng.uniform(size=n) < 0.1, "species"] = None
table.loc[rng.uniform(size=n) < 0.9 * np.exp(-table["water"] / 2), "water"] = np.nan
print(table.head(), "\n")
print(table.isna().sum().to_dict(), "cells are missing")

model = TunedSVC(random_state=0).fit(table, lives)
print(f"expected error on new rows: {100 * model.expected_error_:.0f} %")
print("relevances:", dict(zip(model.feature_names_in_, model.feature_importances_.round(2).tolist(), strict=True)))

# %%
# Now to new rows. A species that was never seen is as far from all others as they are from each other: the
# model falls back on what holds for all, and is less sure. A missing species was seen in training, as a value
# of its own.

water = np.linspace(0, 10, 60)
rows = {name: pd.DataFrame({"species": [name] * len(water), "water": water}) for name in [*need, "palm", None]}
lives_column = list(model.classes_).index("lives")
curves = {name: model.predict_proba(new)[:, lives_column] for name, new in rows.items()}
at_gap = {
    name: model.predict_proba(pd.DataFrame({"species": [name], "water": [np.nan]}))[0, lives_column] for name in need
}
for name, p in at_gap.items():
    average = curves[name].mean()
    print(f"{name}, water not noted: lives with probability {p:.2f}; averaged over all amounts of water {average:.2f}")

# %%
# The curves of the three species rise at different places. That of the unseen "palm" rises slowly and never
# gets sure, and so does that of rows whose species is missing. The dots on the left are rows whose water was
# not noted. They lie below the average of their curves, as printed above: the model has learnt that a gap
# mostly means little water.

figure, axes = plt.subplots(layout="constrained")
for place, (name, p) in enumerate(curves.items()):
    label = {"palm": "palm (never seen)", None: "species missing"}.get(name, name)
    axes.plot(water, p, color=f"C{place}", linestyle="-" if name in need else "--", label=label)
for place, (name, p) in enumerate(at_gap.items()):
    axes.plot(-0.8, p, "o", color=f"C{place}")
axes.axvline(-0.3, color="0.7", linewidth=0.8)
axes.set_xticks([-0.8, 0, 2, 4, 6, 8, 10], ["not\nnoted", "0", "2", "4", "6", "8", "10"])
axes.set(xlabel="water", ylabel="probability to live", ylim=(-0.02, 1.02))
axes.set_title("Probability to live, by water and species, known or not")
axes.legend()
plt.show()
