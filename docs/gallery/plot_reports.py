"""
Reports from the command line
=============================

Whoever would rather not write Python has the command ``marginwise``. It reads a table, tunes and trains, and
writes a page to look at: how far to trust the model, which inputs matter, and which rows deserve a second look.
This page calls it from Python, so that it can show what comes out; in a terminal leave ``main`` and the
brackets away.

The table has a flaw, on purpose: the labels of five rows have been exchanged, as it happens when samples are
mixed up.
"""

import contextlib
import io
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from marginwise import load_benchmark
from marginwise.cli import main

folder = Path("reports")
folder.mkdir(exist_ok=True)
data = load_benchmark("wdbc")  # cells of breast tumours, malignant or benign
labels = np.where(data.y_train == 1, "malignant", "benign")
mixed_up = np.random.default_rng(0).choice(len(labels), 5, replace=False)
labels[mixed_up] = np.where(labels[mixed_up] == "malignant", "benign", "malignant")
names = list(data.feature_names[:10])
lines = [",".join([*map(str, row), label]) for row, label in zip(data.X_train[:, :10], labels, strict=True)]
(folder / "tumours.csv").write_text("\n".join([",".join([*names, "diagnosis"]), *lines]))

# %%
# The fit
# -------
# ``marginwise fit tumours.csv --target diagnosis`` prints a summary and writes a model and a report. With
# ``--json`` all that it found goes to standard output as data, for scripts.

words = ["fit", "tumours.csv", "--target", "diagnosis", "--ard", "0", "--force", "--quiet", "--json"]
with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as output:
    assert main(words) == 0
found = json.loads(output.getvalue())
print(f"expected error {100 * found['expected_error']:.1f} %")
print("area under the ROC curve:", round(found["by_class"]["malignant"]["auc"], 3))

# %%
# `The report of the fit <reports/tumours.html>`__ is one file that needs no network. Its list of labels that
# may be wrong is made of leave-one-out probabilities: how probable is the label of a row, given all the others?
# Rows are numbered from 1.

suspicious = [doubt["rows"][0] for doubt in found["suspicious_labels"]]
print("mixed up:  ", sorted((mixed_up + 1).tolist()))
print("suspicious:", suspicious, "(the least probable first)")

# %%
# The study
# ---------
# ``marginwise study run`` runs the paper's experiments, or a part of them, into a store, and ``study report``
# makes a page of it. Here it is a miniature: one data set, three methods. (``--redo`` replaces trials of an
# earlier version, if there are any.)

store = f"sqlite:///{folder.resolve()}/study.sqlite"
part = ["--datasets", "crabs", "--methods", "le1-walk,span-walk,tuned-svc"]
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["study", "run", "--quick", "--redo", *part, "--store", store]) == 0
    assert main(["study", "report", "--store", store, "--output", str(folder / "study")]) == 0
print("written:", folder / "study" / "index.html")

# %%
# `The report of the study <reports/study/index.html>`__ has tables, figures and the paper's claims, each with
# its verdict; most of them are waiting for trials here.
#
# The picture shows what the fit's report found: the probability of each row's own label, sorted. Rows that were
# mixed up are marked. Those at the left end are the first that one would look at.

doubtful = found["suspicious_labels"]
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
is_mixed = np.isin([doubt["rows"][0] - 1 for doubt in doubtful], mixed_up)
places = np.arange(1, len(doubtful) + 1)
p = np.array([doubt["probability"] for doubt in doubtful])
for mask, label, colour in ((is_mixed, "mixed up on purpose", "C1"), (~is_mixed, "not mixed up", "C0")):
    axes.plot(places[mask], p[mask], "o", color=colour, markersize=8, label=label)
axes.set(xlabel="place in the report's list", ylabel="probability of the label", ylim=(0, None), xticks=places)
axes.set_title("Labels that all other rows speak against")
axes.legend()
plt.show()
