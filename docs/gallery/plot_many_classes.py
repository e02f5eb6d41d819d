"""
Many classes
============

More than two classes need no special care: all share one kernel, found in one search, and each row gets a
probability for every class. What these probabilities are good for shows where the model is unsure.

The data are scikit-learn's handwritten digits: 8 × 8 pixels, ten classes. To be quick, it learns from 500 of
them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from marginwise import TunedSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
model = TunedSVC(ard=0, random_state=0).fit(X_train, y_train)
print(f"test error {100 * (1 - model.score(X_test, y_test)):.1f} %, expected {100 * model.expected_error_:.1f} %")

# %%
# Being sure, and being right
# ---------------------------
# Sort the test digits by the probability of the predicted class. Where the model says that it is sure, it
# should hardly ever be wrong; where it says that it is not, somebody should look. How many of its mistakes are
# among the least sure?

probability = model.predict_proba(X_test)
predicted = model.classes_[probability.argmax(axis=1)]
wrong = predicted != y_test
order = np.argsort(probability.max(axis=1))
for share in (0.02, 0.05, 0.1):
    looked_at = order[: int(share * len(order))]
    print(f"looking at the least sure {share:4.0%} finds {wrong[looked_at].sum()} of {wrong.sum()} mistakes")

# %%
# The least sure of all
# ---------------------
# Each bar is the probability of a class; the true one is dark. Most of these digits would give people pause,
# too.

figure, panels = plt.subplots(2, 6, figsize=(9, 3.6), height_ratios=(1.4, 1), layout="constrained")
for (image, bars), i in zip(panels.T, order[:6], strict=True):
    image.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    image.set_title(f"{'wrong' if wrong[i] else 'right'}: {predicted[i]}")
    image.set_axis_off()
    bars.bar(model.classes_, probability[i], color=["C0" if k == y_test[i] else "0.75" for k in model.classes_])
    bars.set(ylim=(0, 1), xticks=model.classes_, yticks=[0, 1])
    bars.tick_params(labelsize=6)
    bars.grid(visible=False)
figure.suptitle("The six test digits that the model is least sure of, and its probabilities for each class")
plt.show()
