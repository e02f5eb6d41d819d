"""
Which inputs matter
===================

Measure thirty things, and perhaps two of them matter. An ordinary SVM measures distances with all of them, so
that every useless input adds noise. ``TunedSVC`` gives each input a length scale of its own where that helps: a
long one takes the input out of the game. What is left over is a list of relevances.

Here the truth is known: a row is "inside" if the first two inputs put it near the origin. All other inputs are
noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from marginwise import TunedSVC
from marginwise.plots import RelevanceDisplay

N_TRAIN, N_TEST = 200, 2000


def table(n_noise):
    """Return training and test rows with this many inputs of noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_TRAIN + N_TEST, 2 + n_noise))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=len(X)) > 1.2, "outside", "inside")
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]


# %%
# The fit itself is one line. ``feature_importances_`` are the relevances: how steeply the model's score rises
# or falls along each input. They sum to 1.

X, y, X_test, y_test = table(n_noise=10)
model = TunedSVC(random_state=0).fit(X, y)
print("relevances:", model.feature_importances_.round(2))
print(f"of which the two true inputs have {model.feature_importances_[:2].sum():.2f}")

# %%
# A grid search over C and gamma is what people usually do. It has one length scale for all inputs. How do the
# two compare as noise is added?

noises, errors = [0, 5, 10, 20], {"TunedSVC": [], "SVC by grid search": []}
for n_noise in noises:
    X_n, y_n, X_test_n, y_test_n = table(n_noise)
    grid = {"svc__C": 10.0 ** np.arange(-1, 4), "svc__gamma": 10.0 ** np.arange(-4, 1)}
    methods = [
        model if n_noise == 10 else TunedSVC(random_state=0).fit(X_n, y_n),
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X_n, y_n),
    ]
    for name, method in zip(errors, methods, strict=True):
        errors[name].append(100 * (1 - method.score(X_test_n, y_test_n)))
    print(f"{n_noise:2} useless inputs: " + ", ".join(f"{name} {found[-1]:.1f} %" for name, found in errors.items()))

# %%
# On the left the relevances: a bar is the average, dots are the models that are averaged, and the dashed line
# is where all would be if none mattered more than another. On the right the price of noise.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
RelevanceDisplay.from_estimator(model, ax=left)
for name, found in errors.items():
    right.plot(noises, found, "o-", label=name)
right.set(xlabel="inputs that do not matter", ylabel="test error (%)", ylim=(0, None))
right.set_title("Errors as noise is added")
right.legend()
figure.suptitle("Two inputs of twelve matter: relevances, and errors as noise is added")
plt.show()

# %%
# Relevances say what the model uses, not what causes what: of two inputs that tell the same, either may get
# all. And they are not certain: where dots of one bar lie far apart, the averaged models disagree.
