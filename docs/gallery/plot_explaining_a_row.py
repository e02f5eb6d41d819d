"""
Why this patient?
=================

A model says that a patient is probably ill. The doctor asks three things: why, how sure, and has the model ever seen
anybody like that? Here are the three answers, for a table whose truth is known: age and blood pressure matter together,
smoking matters, the rest is noise.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from marginwise import TunedSVC
from marginwise.inspection import explain
from marginwise.plots import BeeswarmDisplay, EffectDisplay, WaterfallDisplay

rng = np.random.default_rng(0)
n = 320
table = pd.DataFrame(
    {
        "age": rng.normal(60, 12, n).round(),
        "pressure": rng.normal(135, 18, n).round(),
        "smoker": rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2]),
        "height": rng.normal(172, 9, n).round(),
    }
)
older = table["age"] > 60
score = 0.08 * (table["age"] - 60) + 0.07 * (table["pressure"] - 135) * older + 2 * (table["smoker"] == "current") - 0.7
y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
model = TunedSVC(random_state=0).fit(table[:-20], y[:-20])

# %%
# **Why.** ``explain`` shares out the difference between this patient's score and the average one among the columns:
# exact Shapley values, in log-odds. +0.7 doubles the odds of being ill, −0.7 halves them.

new = table[-20:]
why = explain(model, new)
patient = int(model.predict_proba(new)[:, 1].argmax())
for j in np.argsort(-abs(why.values[patient])):
    print(f"{why.feature_names[j]:9} {why.data[patient, j]!s:8} {why.values[patient, j]:+.2f}")
print(f"mean {why.base_values[patient]:+.2f}, this patient {why.latent[patient]:+.2f}")

# %%
# **How sure.** The set of labels that cannot be ruled out has the true one in about nine of ten patients. And the doubt
# has two parts: noise, which no further patients would remove, and ignorance, which they would.

for i in (patient, int(model.predict_proba(new)[:, 1].argmin())):
    labels = " or ".join(model.classes_[model.predict_set(new[i : i + 1])[0]])
    doubt = model.doubt(new[i : i + 1])
    print(f"{labels}: {doubt.noise[0]:.2f} bits of noise, {doubt.ignorance[0]:.2f} of ignorance")

# %%
# **Anybody like that?** A patient of 130 years is a stranger, however sure the probability looks.

stranger = new[:1].assign(age=130.0)
novelty = model.novelty(pd.concat([new[:1], stranger]))
print("strange:", novelty.strange, "probability:", model.predict_proba(stranger)[0, 1].round(2))

# %%
# Pictures: one patient, all patients, and one column with the model's own uncertainty.

figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
WaterfallDisplay(why[patient]).plot(axes[0])
BeeswarmDisplay(explain(model, table[:-20])).plot(axes[1])
EffectDisplay.from_estimator(model, "pressure", ax=axes[2])
figure.suptitle("Contributions to one prediction, to all, and the effect of one column")
plt.show()

# %%
# A contribution says what the model makes of a cell. It does not say what would happen if somebody lowered the
# patient's pressure: for that one needs to know causes, and no table of observations has them by itself.
