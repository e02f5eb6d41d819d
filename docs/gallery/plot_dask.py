"""
Rows that Dask holds
====================

A table that is larger than the memory of one machine can be a Dask array or data frame: rows in blocks, in
files or on a cluster. ``TunedSVC`` takes it as it is. The blocks stay where they are; only sums of small
matrices travel, and one number or two for each row.

Here the table is small and the cluster is this machine's threads, so that both ways can be compared.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from marginwise import TunedSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 2))
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0, "yes", "no")

blocks = da.from_array(X, chunks=(1500, 2))
print(f"{blocks.numblocks[0]} blocks of {blocks.chunksize[0]} rows")

# %%
# The same call fits both. On a cluster, start a ``dask.distributed.Client`` first; nothing else changes.

settings = {"ard": 0, "rank": 60, "subset": 500, "random_state": 0}
in_memory = TunedSVC(**settings).fit(X, y)
in_blocks = TunedSVC(**settings).fit(blocks, y)

# %%
# Predictions are made block by block, too, and come back as an array in memory: they are small.

p_blocks, p_memory = in_blocks.predict_proba(blocks)[:, 1], in_memory.predict_proba(X)[:, 1]
difference = np.abs(p_blocks - p_memory).max()
print(f"largest difference between the two ways: {difference:.1e}")

# %%
# The two models are the same but for rounding, which with many rows is that of single precision. On the left are
# the rows by block, which play no role; on the right the probability of each row, the same from both.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
some = slice(None, None, 10)
left.scatter(X[some, 0], X[some, 1], s=6, c=(np.arange(len(X)) // 1500)[some], cmap="viridis")
left.set(xlabel="first input", ylabel="second input")
left.set_title("Rows, coloured by the block that holds them")
right.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
right.plot(p_memory[some], p_blocks[some], ".", markersize=3)
right.set(xlabel='probability of "yes", fitted in memory', ylabel="fitted in blocks", aspect="equal")
right.set_title(f"No probability differs by more than {difference:.0e}")
figure.suptitle("A table in blocks gives the same model as one in memory")
plt.show()
