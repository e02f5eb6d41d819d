"""
When not to answer
==================

A clerk sorts forms into three trays by two measurements. A model may do it, if it says when it should not: when more
than one tray is possible, and when a form is like none that it has seen. The first is a set of labels with a promised
coverage, the second the novelty of a row.
"""

import matplotlib.pyplot as plt
import numpy as np

from marginwise import TunedSVC

rng = np.random.default_rng(0)
CENTRES = {"bill": (0.0, 0.0), "letter": (2.2, 0.4), "order": (0.8, 2.4)}


def forms(n):
    """Return n forms of each kind: measurements and labels."""
    X = np.vstack([rng.normal(centre, 0.7, size=(n, 2)) for centre in CENTRES.values()])
    return X, np.repeat(list(CENTRES), n)


X, y = forms(60)
model = TunedSVC(random_state=0).fit(X, y)

# %%
# Sets of labels. They are calibrated by rows that folds of the fit left out, so no rows are set aside. At 95 % the
# true label is in the set of about 95 of 100 new forms; most sets have one label, and those can be sorted at once.

X_new, y_new = forms(1000)
codes = np.searchsorted(model.classes_, y_new)
coverage, sizes = {}, {}
for level in (0.9, 0.95, 0.99):
    sets = model.predict_set(X_new, level)
    coverage[level] = sets[np.arange(len(codes)), codes].mean()
    sizes[level] = sets.sum(axis=1)
    print(f"promised {level:.0%}: covered {coverage[level]:.1%}, one label for {np.mean(sizes[level] == 1):.0%}")

# %%
# Strangers. Somebody put photographs into the pile. A classifier has to name one of its classes, and far from all
# rows it may be sure of it. Novelty asks another question: is there any training row near by?

photographs = rng.normal((5.5, 5.0), 0.6, size=(200, 2))
known, strange = model.novelty(X_new).strange, model.novelty(photographs).strange
sure = model.predict_proba(photographs).max(axis=1)
print(f"called strange: {known.mean():.1%} of forms, {strange.mean():.1%} of photographs")
print(f"the classifier gives the photographs a probability of {sure.mean():.2f} on average")

# %%
# Both over the plane: on the left how many labels can't be ruled out, on the right the novelty, with the line beyond
# which a row is a stranger.

across, up = np.meshgrid(np.linspace(-3, 8, 120), np.linspace(-3, 7, 110))
plane = np.column_stack([across.ravel(), up.ravel()])
several = model.predict_set(plane, 0.95).sum(axis=1).reshape(across.shape)
novelty = model.novelty(plane)
share = novelty.share.reshape(across.shape)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
areas = axes[0].contourf(across, up, several, levels=[0.5, 1.5, 2.5, 3.5], cmap="Oranges", alpha=0.7)
figure.colorbar(areas, ax=axes[0], ticks=[1, 2, 3], label="labels in the set (95 %)")
areas = axes[1].contourf(across, up, share, levels=np.linspace(0, 1, 11), cmap="Blues", alpha=0.7)
figure.colorbar(areas, ax=axes[1], label="share of prior variance left")
axes[1].contour(across, up, share, levels=[novelty.threshold], colors="black", linewidths=1)
for ax in axes:
    for label in CENTRES:
        ax.scatter(*X[y == label].T, 8, label=label)
    ax.scatter(*photographs[:40].T, 10, marker="x", color="black", linewidth=0.8, label="photograph")
axes[0].legend(loc="upper left")
figure.suptitle("Labels that cannot be ruled out, and where the model has never been")
plt.show()

# %%
# The promise of a set is an average over forms like those of the training pile. It says nothing of photographs: that is
# what novelty is for.
