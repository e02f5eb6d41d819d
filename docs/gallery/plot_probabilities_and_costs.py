"""
Probabilities, and decisions with costs
=======================================

A classifier that only says yes or no has decided for you how bad each kind of mistake is. Probabilities leave
that decision to you. Here is how to check that they can be trusted, and how to turn them into decisions when
one mistake is worse than the other.

The data are 200 women of Pima heritage, some of them with diabetes (class 1), and 332 others to test on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from marginwise import TunedSVC, load_benchmark
from marginwise.plots import ReliabilityDisplay

data = load_benchmark("pima")
X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
model = TunedSVC(random_state=0).fit(X, y)
print("probabilities of the first three test rows:", model.predict_proba(X_test[:3])[:, 1].round(2))

# %%
# Can they be trusted?
# --------------------
# Among the women who were given a probability of about 70 %, about 70 % should have diabetes. Dots on the
# dashed line say so; the bars are 95 % confidence intervals (Wilson).

display = ReliabilityDisplay.from_estimator(model, X_test, y_test, n_bins=8)
display.axes_[0].set_title("Predicted probabilities against what happened")
print(f"predictions and frequencies differ by {100 * display.calibration_error:.1f} points on average")

# %%
# Costs
# -----
# Say that to miss a case is five times as bad as a false alarm. With a true probability p, saying "ill" costs 1
# - p on average and saying "healthy" costs 5 p: "ill" is cheaper as soon as p is above 1/6. That is all there
# is to it, and scikit-learn's ``FixedThresholdClassifier`` puts it into practice. The model need not be fitted
# again.

MISS, ALARM = 5.0, 1.0


def cost(y_true, y_predicted):
    """Return the mean cost of a prediction."""
    (_, alarms), (misses, _) = confusion_matrix(y_true, y_predicted)
    return (MISS * misses + ALARM * alarms) / len(y_true)


by_formula = ALARM / (ALARM + MISS)
careful = FixedThresholdClassifier(FrozenEstimator(model), threshold=by_formula, pos_label=1).fit(X, y)

# %%
# Where probabilities can't be trusted, the threshold has to be found by trying: ``TunedThresholdClassifierCV``
# does it by cross-validation, at the price of several more fits.

tried = TunedThresholdClassifierCV(TunedSVC(ard=0, random_state=0), scoring=make_scorer(cost, greater_is_better=False))
tried.fit(X, y)
for name, classifier in {"as predicted": model, "by the formula": careful, "by trying": tried}.items():
    predicted = classifier.predict(X_test)
    missed = np.sum((y_test == 1) & (predicted != 1))
    print(f"{name:15} cost {cost(y_test, predicted):.2f}, {missed} of {np.sum(y_test == 1)} cases missed")

# %%
# The picture shows the cost on the test rows for every threshold. The one that the formula gives is near the
# bottom of the valley, without a look at any further data: that is what true probabilities are good for.

p = model.predict_proba(X_test)[:, 1]
thresholds = np.linspace(0.02, 0.98, 97)
figure, axes = plt.subplots(layout="constrained")
axes.plot(thresholds, [cost(y_test, np.where(p >= t, 1, -1)) for t in thresholds], color="C0")
chosen = {"as predicted": 0.5, "by the formula": by_formula, "by trying": tried.best_threshold_}
for place, (name, threshold) in enumerate(chosen.items(), start=1):
    axes.axvline(threshold, color=f"C{place}", linestyle="--", label=f"{name}: {threshold:.2f}")
axes.set(xlabel="threshold: from this probability on, say ill", ylabel="mean cost on the test rows")
axes.set_title("The cost of decisions, by the threshold they are made at")
axes.legend()
plt.show()
