"""
A criterion of your own
=======================

A criterion scores a setting of the hyperparameters. Yours may be any function of the kernel matrix, the trained
SVM or the posterior. One class makes it available to every search, to ``TunedSVC``, to the command line and to
studies.

This example adds the alignment of the kernel with the labels (Cristianini, Shawe-Taylor, Elisseeff & Kandola,
2002): how similar the matrix K of the kernel is to the matrix yyᵀ, which is 1 for rows of one class and -1 for
rows of two. It needs no training at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from marginwise import Criterion, Evaluation, Hyperparameters, MarginSVC, evaluate, load_benchmark, tune


class Alignment(Criterion):
    """A = yᵀKy / (n |K|)."""

    name = "alignment"
    direction = "maximise"
    smooth = True  # it has a gradient that a search may follow
    scale_free = True  # C plays no role: searches keep it where it is
    equation = "Cristianini et al. (2002), A(K, yyᵀ)"

    def evaluate(self, problem, model, state=None, *, with_gradient=True):
        covariance, w = problem.dense_covariance(model), problem.weights
        K, signed = covariance.gram, w * problem.y
        norm = np.sqrt(w @ K**2 @ w)
        value = signed @ K @ signed / (w.sum() * norm)
        # The derivative in each element of K; `contract` makes of it those in the logarithms of all hyperparameters.
        G = np.outer(signed, signed) / (w.sum() * norm) - value * K * np.outer(w, w) / norm**2
        return Evaluation(float(value), np.concatenate([[0.0], covariance.contract(G)]))


# %%
# Check the gradient
# ------------------
# The first thing to do, always: compare it with differences.

data = load_benchmark("crabs")
X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
start = Hyperparameters(C=1.0, k0=1.0, koff=0.1, length_scales=[1.0] * data.n_inputs)


def alignment_at(logs):
    """Return the criterion as a function of the logarithms."""
    return evaluate(Alignment(), X, y, Hyperparameters.from_vector(logs)).value


logs = start.to_vector()
steps = 1e-5 * np.eye(len(logs))
differences = [(alignment_at(logs + step) - alignment_at(logs - step)) / 2e-5 for step in steps]
gap = np.abs(evaluate(Alignment(), X, y, start).gradient - differences).max()
print(f"largest difference between gradient and differences: {gap:.1e}")

# %%
# Use it
# ------

tuning = tune(X, y, Alignment(), isotropic=True)
print(f"{tuning.status.message}: alignment {tuning.value:.3f} at l = {tuning.hyperparameters.length_scales[0]:.2f}")

# %%
# Is it any good? Along the length scale, the alignment has one clear maximum. The test error of the SVM (C =
# 10) is lowest elsewhere: a criterion that never looks at the SVM cannot know. That is easy to see in a
# picture, and hard in a formula.

scales = np.geomspace(0.1, 30, 40)
alignments, errors = [], []
for scale in scales:
    h = Hyperparameters(1.0, tuning.hyperparameters.k0, tuning.hyperparameters.koff, [scale] * data.n_inputs)
    alignments.append(evaluate(Alignment(), X, y, h).value)
    svm = MarginSVC(10.0, h.k0, h.koff, h.length_scales).fit(X, y)
    errors.append(100 * (1 - svm.score(X_test, y_test)))
print(f"lowest test error {min(errors):.1f} % at l = {scales[np.argmin(errors)]:.2f}")

figure, (above, below) = plt.subplots(2, 1, sharex=True, layout="constrained")
above.semilogx(scales, alignments, color="C0")
above.axvline(tuning.hyperparameters.length_scales[0], color="C1", linestyle="--", label="found by the search")
above.set(ylabel="alignment")
above.set_title("A criterion of one's own along the length scale, and the test error")
above.legend()
below.semilogx(scales, errors, color="C2")
below.set(xlabel="length scale l", ylabel="test error (%)", ylim=(0, None))
plt.show()
