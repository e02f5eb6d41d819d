"""
A rare class, and weights
=========================

When one row in twenty is ill, a model that calls everybody healthy is right nineteen times out of twenty, and
useless. There are two honest ways out, and they are closely related: keep the probabilities as they are and
lower the threshold, or give the rare class more weight. This example shows both, and what weights do to
probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import recall_score

from marginwise import TunedSVC
from marginwise.plots import BoundaryDisplay


def table(n, rng):
    """Return inputs and labels: the rare class lies in a corner, among others."""
    ill = rng.uniform(size=n) < 0.05
    X = rng.normal(size=(n, 2)) + np.where(ill[:, None], [1.6, 1.6], 0.0)
    return X, np.where(ill, "ill", "healthy")


rng = np.random.default_rng(0)
X, y = table(500, rng)
X_test, y_test = table(20_000, rng)
print(f"{np.sum(y == 'ill')} of {len(y)} training rows are ill")

plain = TunedSVC(ard=0, random_state=0).fit(X, y)
balanced = TunedSVC(ard=0, class_weight="balanced", random_state=0).fit(X, y)


def tell(name, predicted):
    """Print how many of both classes were found."""
    found, spared = (100 * recall_score(y_test, predicted, pos_label=label) for label in ("ill", "healthy"))
    print(f"{name:32} {found:3.0f} % of the ill found, {spared:3.0f} % of the healthy spared")


tell("no weights", plain.predict(X_test))
tell('class_weight="balanced"', balanced.predict(X_test))

# %%
# Weights move probabilities
# --------------------------
# A model with weights answers for another population: one in which the classes are as frequent as their weights
# say. So its probabilities are not those of the table that you have. The mean probability of "ill" shows it:
# without weights it agrees with the true share, with balanced weights it is far above.

p_plain, p_balanced = (model.predict_proba(X_test)[:, list(model.classes_).index("ill")] for model in (plain, balanced))
print(
    f"truly ill {np.mean(y_test == 'ill'):.3f}, on average predicted {p_plain.mean():.3f}, balanced "
    f"{p_balanced.mean():.3f}"
)

# %%
# One can be had from the other: weights multiply the odds by a number, the ratio of the mean weights. A
# threshold on the plain probabilities at the share of the rare class therefore decides almost as the balanced
# model does.

share = np.mean(y == "ill")
lowered = np.where(p_plain > share, "ill", "healthy")
tell(f"no weights, threshold {share:.3f}", lowered)
print(f"the two agree on {100 * np.mean(lowered == balanced.predict(X_test)):.1f} % of the test rows")

# %%
# The thick line is where the decision changes. With weights it moves towards the healthy: more of the ill are
# found, and more of the healthy are alarmed. Which is better depends on what a mistake costs, not on the
# classifier.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, model, title in zip(panels, (plain, balanced), ("no weights", 'class_weight="balanced"'), strict=True):
    BoundaryDisplay.from_estimator(model, X, y, ax=axes)
    axes.set_title(title)
figure.suptitle("Where ill and healthy are told apart, without and with weights")
plt.show()
