"""What there is to say of a fitted model, once for the terminal, for JSON and for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from marginwise._wording import numbered
from marginwise.cli.label_issues import MOST, SUSPICIOUS
from marginwise.cli.text import aligned, bar, percent
from marginwise.datasets import Table
from marginwise.estimators import TunedSVC
from marginwise.inspection import (
    ClassScores,
    DoubtfulRow,
    held_out_report,
    label_issues,
    permutation_effects,
    uncertain_rows,
)

#: Inputs, and classes, shown on a terminal; the report has all.
_TOP = 10

#: Classes up to which all are named in a sentence.
_FEW_CLASSES = 12


@dataclass(frozen=True)
class Member:
    """One tuned model of those that are averaged; ``separates`` says from what, where there are several classes."""

    separates: str
    weight: float
    ard: float
    hyperparameters: dict[str, float]
    criterion_value: float | None
    evaluations: int
    status: str

    @property
    def alone(self) -> list[str]:
        """The hyperparameters that are not one of many, such as l_1."""
        return [name for name in self.hyperparameters if "_" not in name]

    def shown(self, name: str) -> str:
        """Return a hyperparameter as tables show it."""
        return f"{self.hyperparameters[name]:.3g}" if name in self.hyperparameters else "–"


@dataclass(frozen=True)
class FitSummary:
    """A fitted model and the table it is from, in numbers and words."""

    table: str
    target: str
    rows: int
    inputs: int
    classes: dict[str, int]
    criterion: str
    slack: str
    seed: int
    expected_error: float
    expected_log_loss: float
    expected_error_se: float
    expected_log_loss_se: float
    term_shares: dict[str, float]
    relevances: dict[str, float]
    influences: dict[str, float]
    by_class: dict[str, dict[str, float | None]]
    suspicious_labels: list[dict[str, Any]]
    uncertain_rows: list[dict[str, Any]]
    members: list[Member]
    warnings: list[str]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in terms of JSON."""
        return asdict(self)

    @property
    def expected(self) -> str:
        """What to expect on new data, in words."""
        error = f"error {percent(self.expected_error)} (± {100 * self.expected_error_se:.1f})"
        return f"{error}, log-loss {self.expected_log_loss:.3f}"

    @property
    def contents(self) -> str:
        """What the table holds, in words."""
        if len(self.classes) <= _FEW_CLASSES:
            classes = ", ".join(f"{label} ({numbered(n, 'row')})" for label, n in self.classes.items())
        else:
            least, most = min(self.classes.values()), max(self.classes.values())
            classes = f"one of {len(self.classes)} classes, with {least} to {numbered(most, 'row')} each"
        return f"{numbered(self.rows, 'row')}, {numbered(self.inputs, 'input')}; {self.target} is {classes}"

    def to_text(self) -> str:
        """Return it for a terminal."""
        return (
            f"{self.table}: {self.contents}\n\n"
            f"expected on new data: {self.expected}\n\n"
            f"{self._classes_text()}"
            f"hyperparameters ({self.criterion}, {self.slack} slack, standardised inputs)\n"
            f"{aligned(self.member_rows(), '<' + '>' * (len(self.member_rows()[0]) - 1))}"
            f"\n{self.shape}\n\n"
            f"{self._inputs_text()}"
        )

    def _classes_text(self) -> str:
        """Return how well the classes are told apart; of more than two, the hardest first."""
        scores = {label: ClassScores(**values) for label, values in self.by_class.items()}  # type: ignore[arg-type]
        if len(scores) == 2:
            (no, of_no), (yes, of_yes) = scores.items()
            return (
                f"sensitivity {percent(of_yes.recall)} (rows of {yes} found), specificity {percent(of_no.recall)} "
                f"(rows of {no} spared), area under the ROC curve {of_yes.auc:.3f}\n\n"
            )
        hardest = sorted(scores.items(), key=lambda item: item[1].f1)
        rows = [
            [f"  {label}", str(s.rows), *map(_share, (s.recall, s.precision, s.f1)), f"{s.auc:.3f}"]
            for label, s in hardest[:_TOP]
        ]
        more = f"  and {len(hardest) - _TOP} more\n" if len(hardest) > _TOP else ""
        header = ["  class", "rows", "recall", "precision", "F1", "AUC"]
        title = "classes, the hardest first (recall: share of its rows found; precision: how many so named are)"
        return f"{title}\n{aligned([header, *rows], '<>>>>>')}{more}\n"

    def _inputs_text(self) -> str:
        influences = _bars("influence: mean change of the probabilities when the column is shuffled", self.influences)
        relevances = _bars("relevance: mean squared slope of the latent function, with sum 1", self.relevances)
        return f"{influences}\n{relevances}"

    @property
    def shape(self) -> str:
        """What the decision looks like, in a sentence."""
        words = {
            "straight": "a straight line",
            "smooth": "smooth curves",
            "stepwise": "steps along single inputs",
            "additive": "a function of each input on its own",
        }
        shares = [(words.get(shape, shape), share) for shape, share in ranked(self.term_shares) if share >= 0.005]
        if not shares:
            return "the decision is the same everywhere"
        first, *others = [f"{100 * share:.0f} % {word}" for word, share in shares]
        share, word = first.split(" % ", 1)
        rest = f"; the rest is {' and '.join(others)}" if others else ""
        return f"{share} % of the decision is {word}{rest}"

    @property
    def names(self) -> list[str]:
        """The hyperparameters that stand alone, those of any member."""
        return list(dict.fromkeys(name for m in self.members for name in m.alone))

    def member_rows(self) -> list[list[str]]:
        """Return a table of the models that are averaged, with its header."""
        rows = [
            [f"  {m.separates}", f"{m.weight:.2f}", f"{m.ard:g}", *(m.shown(name) for name in self.names)]
            for m in self.members
        ]
        return [["  classes", "weight", "ard", *self.names], *rows]


def ranked(values: dict[str, float]) -> list[tuple[str, float]]:
    """Return names and values, the largest first."""
    return sorted(values.items(), key=lambda item: -item[1])


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _bars(title: str, values: dict[str, float]) -> str:
    order = ranked(values)
    largest = max(order[0][1], np.finfo(float).tiny)
    rows = [[f"  {name}", f"{value:.3f}", bar(value / largest)] for name, value in order[:_TOP]]
    more = f"  and {len(order) - _TOP} more\n" if len(order) > _TOP else ""
    return f"{title}\n{aligned(rows, '<><')}{more}"


def summarise(
    model: TunedSVC, table: Table, *, name: str, seed: int, warnings: Sequence[str], seconds: float
) -> FitSummary:
    """Return the summary of a model fitted to a table."""
    labels, counts = np.unique(table.y, return_counts=True)
    words = [str(label) for label in labels.tolist()]
    relevances = dict(zip(table.feature_names, model.feature_importances_.tolist(), strict=True))
    separates = f"{words[1]} against {words[0]}" if len(words) == 2 else f"all {len(words)}"
    ordered = sorted(model.ensemble_.members, key=lambda member: -member.weight)
    members = [_member(member, separates) for member in ordered]
    scores = held_out_report(model, table.y).scores.values()
    effects = permutation_effects(model, table.X, seed)
    return FitSummary(
        table=name,
        target=table.target_name,
        rows=len(table.y),
        inputs=table.X.shape[1],
        classes=dict(zip(words, counts.tolist(), strict=True)),
        criterion=model.ensemble_.criterion,
        slack=model.ensemble_.slack.name,
        seed=seed,
        expected_error=model.expected_error_,
        expected_log_loss=model.expected_log_loss_,
        expected_error_se=model.expected_error_se_,
        expected_log_loss_se=model.expected_log_loss_se_,
        term_shares=model.term_shares_,
        relevances=relevances,
        influences=dict(zip(table.feature_names, effects.tolist(), strict=True)),
        by_class={label: of_class._asdict() for label, of_class in zip(words, scores, strict=True)},
        suspicious_labels=[_as_written(row) for row in label_issues(model, table.y, SUSPICIOUS)],
        uncertain_rows=[_as_written(row) for row in uncertain_rows(model, table.y, MOST)],
        members=members,
        warnings=list(warnings),
        seconds=seconds,
    )


def _as_written(row: DoubtfulRow) -> dict[str, Any]:
    """Return a row as a file has it: the first is 1, labels are text."""
    rows = tuple(number + 1 for number in row.rows)
    return row._replace(rows=rows, label=str(row.label), other=str(row.other))._asdict()


def _member(member: Any, separates: str) -> Member:
    found, tuning = member.hyperparameters, member.tuning
    return Member(
        separates=f"{separates} by {member.labels}",
        weight=member.weight,
        ard=member.spread,
        hyperparameters=dict(zip(found.names, found.values.tolist(), strict=True)),
        criterion_value=None if np.isnan(tuning.value) else float(tuning.value),
        evaluations=len(tuning.trace),
        status=tuning.status.message,
    )
