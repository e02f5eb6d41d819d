"""How far the evidence's approximations are from the exact one, on the way from the start of a tuning to its end.

    python benchmarks/evidence.py run                  five data sets, both slacks, five settings each (minutes)
    python benchmarks/evidence.py run --sets crabs
    python benchmarks/evidence.py report               tables, and the picture docs/images/evidence-errors.svg

The settings lie on a straight line, in logarithms, from the paper's fixed start to the maximum of expectation
propagation's evidence over all length scales. At each, the exact value and gradient are sampled; expectation
propagation and Laplace's approximation are compared with them, in nats and in units of the Monte Carlo error. Results
are lines in results/evidence.csv, written as they come; a second run continues.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

from marginwise import load_benchmark, tune  # noqa: E402
from marginwise.criteria import evaluate  # noqa: E402
from marginwise.hyperparameters import Hyperparameters, paper_start  # noqa: E402
from marginwise.inference.sampling.collect import Precision  # noqa: E402
from marginwise.inference.sampling.run import sample_posterior  # noqa: E402
from marginwise.likelihoods import as_slack  # noqa: E402
from marginwise.problem import as_problem  # noqa: E402

RESULTS = Path("results/evidence.csv")
PICTURE = Path(__file__).parent.parent / "docs/images/evidence-errors.svg"
SETS = ("crabs", "pima", "wdbc", "twonorm", "ringnorm")
SLACKS = ("linear", "quadratic")
SETTINGS = (0.0, 0.25, 0.5, 0.75, 1.0)
APPROXIMATIONS = ("ep", "laplace")

#: Four times the usual number of steps, so that errors of a few hundredths of a nat are seen.
PRECISION = Precision(relative=0.03, rung_steps=160)

FIELDS = [
    "set",
    "slack",
    "setting",
    "n",
    "C",
    "k0",
    "koff",
    "l",
    "value",
    "value_se",
    "norm",
    "norm_se",
    "ok",
    "seconds",
]
FIELDS += [f"{name}_{part}" for name in APPROXIMATIONS for part in ("value", "difference", "rms_z")]


def measure(name: str, slack: str, setting: float, end: Hyperparameters) -> dict[str, object]:
    """Return one line of results."""
    data = load_benchmark(name)
    problem = as_problem(data.X_train, data.y_train)
    n, d = problem.n, data.n_inputs
    logs = (1 - setting) * paper_start(d).to_vector() + setting * end.to_vector()
    h = Hyperparameters.from_vector(logs)
    begin = time.process_time()
    exact = sample_posterior(problem, h, as_slack(slack), evidence=True, precision=PRECISION)
    seconds = time.process_time() - begin
    assert exact.gradient is not None
    assert exact.gradient_se is not None
    row: dict[str, object] = {
        "set": name,
        "slack": slack,
        "setting": setting,
        "n": n,
        "C": h.C,
        "k0": h.k0,
        "koff": h.koff,
        "l": float(np.exp(logs[3:].mean())),
        "value": exact.log_evidence,
        "value_se": exact.log_evidence_se,
        "norm": float(np.linalg.norm(exact.gradient)),
        "norm_se": float(np.linalg.norm(exact.gradient_se)),
        "ok": exact.status.message,
        "seconds": seconds,
    }
    for approximation in APPROXIMATIONS:
        result = evaluate(f"{approximation}-evidence", problem.X, problem.y, h, slack)
        assert result.gradient is not None
        difference = result.gradient - exact.gradient
        row[f"{approximation}_value"] = n * result.value
        row[f"{approximation}_difference"] = float(np.linalg.norm(difference))
        row[f"{approximation}_rms_z"] = float(np.sqrt(np.mean((difference / exact.gradient_se) ** 2)))
    return row


def run(sets: list[str]) -> None:
    """Measure what is not there yet."""
    done = {(row["set"], row["slack"], float(row["setting"])) for row in load()}
    RESULTS.parent.mkdir(exist_ok=True)
    for name in sets:
        data = load_benchmark(name)
        for slack in SLACKS:
            wanted = [setting for setting in SETTINGS if (name, slack, setting) not in done]
            if not wanted:
                continue
            end = tune(data.X_train, data.y_train, "ep-evidence", slack, isotropic=False).hyperparameters
            for setting in wanted:
                row = measure(name, slack, setting, end)
                new = not RESULTS.exists()
                with RESULTS.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(f"{name} {slack} {setting:g}: {row['seconds']:.1f} s, {row['ok']}", flush=True)


def load() -> list[dict[str, str]]:
    """Return the lines that are there."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def report() -> None:
    """Print the tables in Markdown and draw the picture."""
    rows = sorted(load(), key=lambda r: (SLACKS.index(r["slack"]), SETS.index(r["set"]), float(r["setting"])))
    for slack in SLACKS:
        print(f"\n### {slack.capitalize()} slack\n")
        print(
            "| set | C, k0, koff, l | exact ln Q(Y\\|X) | EP − exact | in errors | Laplace − exact "
            "| exact \\|g\\| | EP: \\|Δg\\|/\\|g\\| | noise | EP: rms z | Laplace: \\|Δg\\|/\\|g\\| | s |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|---|")
        for row in (r for r in rows if r["slack"] == slack):
            v = {key: float(value) for key, value in row.items() if key not in ("set", "slack", "ok")}
            error = v["ep_value"] - v["value"]
            print(
                f"| {row['set']} | {v['C']:.2g}, {v['k0']:.3g}, {v['koff']:.2g}, {v['l']:.2g} "
                f"| {v['value']:.2f} ± {v['value_se']:.2f} | {error:+.2f} | {error / v['value_se']:+.1f} "
                f"| {v['laplace_value'] - v['value']:+.1f} | {v['norm']:.3f} | {v['ep_difference'] / v['norm']:.3f} "
                f"| {v['norm_se'] / v['norm']:.3f} | {v['ep_rms_z']:.1f} | {v['laplace_difference'] / v['norm']:.2f} "
                f"| {v['seconds']:.1f} |"
            )
    summarise(rows)
    draw(rows)


def summarise(rows: list[dict[str, str]]) -> None:
    """Print the largest errors."""
    error, noise = (np.array([float(r[key]) for r in rows]) for key in ("ep_value", "value_se"))
    exact, laplace = (np.array([float(r[key]) for r in rows]) for key in ("value", "laplace_value"))
    norm, norm_se = (np.array([float(r[key]) for r in rows]) for key in ("norm", "norm_se"))
    ep, other = (np.array([float(r[f"{a}_difference"]) for r in rows]) / norm for a in APPROXIMATIONS)
    clear = norm_se < 0.05 * norm
    print(
        f"\n{len(rows)} settings. EP − exact: {np.min(error - exact):+.2f} … {np.max(error - exact):+.2f} nats, median "
        f"{np.median(error - exact):+.2f}, median Monte Carlo error {np.median(noise):.2f}. Laplace − exact: "
        f"{np.min(laplace - exact):+.1f} … {np.max(laplace - exact):+.1f} nats. Gradient, relative, in the "
        f"{clear.sum()} settings with noise below 5 %: EP median {np.median(ep[clear]):.4f}, largest "
        f"{ep[clear].max():.3f}; Laplace median {np.median(other[clear]):.2f}, largest {other[clear].max():.1f}. "
        f"Not ok: {[(r['set'], r['slack'], r['setting'], r['ok']) for r in rows if r['ok'] != 'converged']}"
    )


def draw(rows: list[dict[str, str]]) -> None:
    """Draw the errors of value and gradient along the way."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "marginwise", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, layout="constrained")
    colours = dict(zip(SETS, ("C0", "C1", "C2", "C3", "C4"), strict=True))
    for line, slack in enumerate(SLACKS):
        value, gradient = axes[line]
        for name in SETS:
            own = [r for r in rows if r["slack"] == slack and r["set"] == name]
            if not own:
                continue
            x = np.array([float(r["setting"]) for r in own])
            v = {key: np.array([float(r[key]) for r in own]) for key in own[0] if key not in ("set", "slack", "ok")}
            colour = colours[name]
            value.errorbar(x, v["ep_value"] - v["value"], 2 * v["value_se"], color=colour, fmt="o-", ms=3, label=name)
            value.plot(x, v["laplace_value"] - v["value"], "--", color=colour)
            gradient.semilogy(x, v["ep_difference"], "o-", color=colour, ms=3)
            gradient.semilogy(x, v["laplace_difference"], "--", color=colour)
            gradient.semilogy(x, v["norm_se"], ":", color=colour, lw=0.8)
        value.set_yscale("symlog", linthresh=0.5)
        value.axhline(0, color="grey", lw=0.5)
        value.set_ylabel(f"{slack} slack\nln Q − exact (nats)")
        gradient.set_ylabel("|g − exact|")
    axes[0, 0].set_title("value: EP (solid, ±2 errors), Laplace (dashed)", fontsize=9)
    axes[0, 1].set_title("gradient: EP, Laplace, sampling noise (dotted)", fontsize=9)
    axes[0, 0].legend(fontsize=7, ncols=2)
    for axis in axes[1]:
        axis.set_xlabel("way from the start (0) to the optimum (1)")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    args = parser.parse_args()
    if args.what == "run":
        run(args.sets)
    else:
        report()


if __name__ == "__main__":
    main()
