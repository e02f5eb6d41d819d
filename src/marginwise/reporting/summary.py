"""What there is to say of a fitted model: the facts that its text, its page and its JSON are made from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from marginwise._characters import visible
from marginwise._wording import numbered, percent
from marginwise.estimators import TunedSVC
from marginwise.inspection import (
    ClassScores,
    DoubtfulRow,
    OrderScores,
    held_out_report,
    label_issues,
    permutation_effects,
    uncertain_rows,
)
from marginwise.inspection.positive import positive_place
from marginwise.reporting.label_issues import MOST, SUSPICIOUS
from marginwise.reporting.summary_html import summary_html
from marginwise.reporting.summary_text import summary_text
from marginwise.reporting.text import ranked
from marginwise.reporting.training import TrainingTable, class_counts, no_feature_names

#: Classes up to which all are named in a sentence.
_FEW_CLASSES = 12


@dataclass(frozen=True)
class Member:
    """One of the tuned models that are averaged; ``separates`` says which classes it separates, and how."""

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
    """A fitted model and the table it is from, in numbers and words.

    Attributes
    ----------
    table, target : str
        Names of the table, if it has one, and of the column to predict.
    rows, inputs : int
        Numbers of rows and inputs.
    classes : dict
        Number of rows of each class.
    criterion, slack : str
        The criterion that was optimised, and its slack.
    seed : int or None
        The random seed.
    expected_error, expected_log_loss : float
        Error and log-loss expected on new data.
    expected_error_se, expected_log_loss_se : float
        Their standard errors.
    term_shares : dict
        Shares of the latent function that are straight, smooth and stepwise.
    relevances, influences : dict
        By column: the share of the latent function's mean squared slope, and by how much the probabilities change when
        the column is shuffled.
    by_class : dict
        The ``ClassScores`` of each class; empty if the model has no held-out probabilities.
    suspicious_labels, uncertain_rows : list of dict
        Rows to check, numbered from 1.
    members : list
        The tuned models that are averaged.
    warnings : list of str
        What to be careful about.
    seconds : float or None
        Duration of the fit, if known.
    positive_class : str or None
        The positive class, if there is one.
    groups : int or None
        The number of groups whose rows were left out together; None if rows were left out one by one.
    class_order : list of str
        The classes from lowest to highest; empty if they have no order.
    order_scores : dict
        The ``OrderScores`` of three or more classes with an order; otherwise empty.
    updates : str
        How many rows the model was tuned on, and how many were added and forgotten since; empty if none were.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from marginwise import TunedSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> summary = TunedSVC(ard=0, random_state=0).fit(X, y).summary()
    >>> summary.rows, summary.classes
    (150, {'0': 50, '1': 50, '2': 50})
    """

    table: str
    target: str
    rows: int
    inputs: int
    classes: dict[str, int]
    criterion: str
    slack: str
    seed: int | None
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
    seconds: float | None
    positive_class: str | None = None
    groups: int | None = None
    class_order: list[str] = field(default_factory=list)
    order_scores: dict[str, float] = field(default_factory=dict)
    updates: str = ""

    def __repr__(self) -> str:
        remarks = "".join(f"note: {visible(' '.join(message.split()))}\n" for message in self.warnings)
        return (self.to_text() + (f"\n{remarks}" if remarks else "")).rstrip("\n")

    def _repr_html_(self) -> str:
        return summary_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in terms of JSON."""
        return asdict(self)

    @property
    def expected(self) -> str:
        """What to expect on new data, in words."""
        error = f"error {percent(self.expected_error)} (± {100 * self.expected_error_se:.1f})"
        return f"{error}, log-loss {self.expected_log_loss:.3f}" if self.is_judged else "no row could be left out"

    @property
    def expected_on(self) -> str:
        """What that is expected on."""
        return "new data" if self.groups is None else f"new groups ({numbered(self.groups, 'group')})"

    @property
    def is_judged(self) -> bool:
        """Whether rows were left out, so that there is something to expect."""
        return not math.isnan(self.expected_error)

    @property
    def base_error(self) -> float:
        """The error of always predicting the commonest class."""
        return 1 - max(self.classes.values()) / self.rows

    @property
    def base_log_loss(self) -> float:
        """The log-loss of the classes' shares."""
        return -sum(n / self.rows * math.log(n / self.rows) for n in self.classes.values())

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The few numbers that tell the story, each with what it is."""
        if not self.is_judged:
            return [(percent(self.base_error), "error if the commonest class is always predicted")]
        error, loss, new = self.expected_error_se, self.base_log_loss, self.expected_on
        facts = [
            (percent(self.expected_error), f"error expected on {new}, ± {100 * error:.1f}"),
            (percent(self.base_error), "error if the commonest class is always predicted"),
            (f"{self.expected_log_loss:.3f}", f"log-loss expected on {new} ({loss:.3f} without any input)"),
        ]
        facts += self.order_facts
        if self.positive_class in self.by_class:
            area = self.by_class[self.positive_class]["auc"]
            facts.append((f"{area:.3f}", "area under the ROC curve (1 is perfect, 0.5 a coin)"))
        return facts

    @property
    def order_facts(self) -> list[tuple[str, str]]:
        """How far off predictions of classes with an order are."""
        if not self.order_scores:
            return []
        score, away, base_score, base_away = OrderScores(**self.order_scores)
        return [
            (f"{score:.3f}", f"ranked probability score ({base_score:.3f} without any input)"),
            (f"{away:.2f}", f"classes between median and truth ({base_away:.2f} without any input)"),
        ]

    @property
    def contents(self) -> str:
        """What the table holds, in words."""
        if len(self.classes) <= _FEW_CLASSES:
            classes = ", ".join(f"{label} ({numbered(n, 'row')})" for label, n in self.classes.items())
        else:
            least, most = min(self.classes.values()), max(self.classes.values())
            classes = f"one of {len(self.classes)} classes, with {least} to {numbered(most, 'row')} each"
        since = f"; {self.updates}" if self.updates else ""
        return f"{numbered(self.rows, 'row')}, {numbered(self.inputs, 'input')}; {self.target} is {classes}{since}"

    def to_text(self) -> str:
        """Return it for a terminal."""
        return summary_text(self)

    @property
    def names(self) -> list[str]:
        """The hyperparameters that stand alone, those of any member."""
        return list(dict.fromkeys(name for m in self.members for name in m.alone))

    @property
    def scores(self) -> dict[str, ClassScores]:
        """How well each class is told from the others."""
        return {label: ClassScores(**values) for label, values in self.by_class.items()}  # type: ignore[arg-type]

    @property
    def told_apart(self) -> str:
        """How well two classes are told apart, or which of more is the hardest, in a sentence."""
        scores = self.scores
        if not scores:
            return ""
        if len(scores) > 2:
            hardest = min(scores, key=lambda label: scores[label].f1)
            return f"The hardest class is {hardest}: {percent(scores[hardest].recall)} of its rows are found."
        yes = self.positive_class or list(scores)[1]
        no = next(label for label in scores if label != yes)
        return (
            f"Sensitivity {percent(scores[yes].recall)} (rows of {yes} found), specificity "
            f"{percent(scores[no].recall)} (rows of {no} spared), area under the ROC curve {scores[yes].auc:.3f}."
        )

    @property
    def shape(self) -> str:
        """What the decision looks like, in a sentence."""
        words = {
            "straight": "straight lines",
            "smooth": "smooth curves",
            "stepwise": "steps along single inputs",
            "additive": "functions of single inputs",
        }
        shares = [(words.get(shape, shape), share) for shape, share in ranked(self.term_shares) if share >= 0.005]
        if not shares:
            return "the decision is the same everywhere"
        first, *others = [f"{100 * share:.0f} % {word}" for word, share in shares]
        share, word = first.split(" % ", 1)
        rest = f"; the rest is {' and '.join(others)}" if others else ""
        return f"{share} % of the decision is {word}{rest}"


def summary_of_model(model: Any, *, positive_class: Any = None) -> FitSummary:
    """Return the summary of a model from what it holds itself."""
    return summarise(model, TrainingTable.of_model(model), warnings=model._remarks, positive_class=positive_class)


def summarise(
    model: TunedSVC,
    table: TrainingTable,
    *,
    name: str = "",
    warnings: Sequence[str] = (),
    seconds: float | None = None,
    positive_class: Any = None,
) -> FitSummary:
    """Return the summary of a model fitted to a table."""
    labels = model.classes_.tolist()
    place = positive_place(labels, positive_class)
    words = [str(label) for label in labels]
    separates = f"{words[1]} against {words[0]}" if len(words) == 2 else f"all {len(words)}"
    ordered = sorted(model.ensemble_.members, key=lambda member: -member.weight)
    seed = int(model.random_state) if isinstance(model.random_state, int | np.integer) else None
    counts = class_counts(model, table.y)
    with no_feature_names():
        effects = permutation_effects(model, table.X, seed or 0)
    judged = bool(np.isfinite(model.expected_error_))
    report = held_out_report(model, table.y) if judged else None
    scores = [] if report is None else report.scores.values()
    order = [] if model.class_order_ is None else [str(label) for label in model.class_order_.tolist()]
    ranked_scores = None if report is None or len(order) < 3 else report.order_scores
    return FitSummary(
        table=name,
        target=table.target,
        rows=sum(counts.values()),
        inputs=len(table.names),
        classes=counts,
        criterion=model.ensemble_.criterion,
        slack=model.ensemble_.slack.name,
        seed=seed,
        expected_error=model.expected_error_,
        expected_log_loss=model.expected_log_loss_,
        expected_error_se=model.expected_error_se_,
        expected_log_loss_se=model.expected_log_loss_se_,
        term_shares=model.term_shares_,
        relevances=dict(zip(table.names, model.feature_importances_.tolist(), strict=True)),
        influences=dict(zip(table.names, effects.tolist(), strict=True)),
        by_class={label: of_class._asdict() for label, of_class in zip(words, scores, strict=False)},
        suspicious_labels=_as_written(label_issues(model, table.y, SUSPICIOUS) if judged else [], table),
        uncertain_rows=_as_written(uncertain_rows(model, table.y, MOST) if judged else [], table),
        members=[_member(member, separates) for member in ordered],
        warnings=list(warnings),
        seconds=seconds,
        positive_class=None if place is None else words[place],
        groups=model.n_groups_,
        class_order=order,
        order_scores={} if ranked_scores is None else ranked_scores._asdict(),
        updates="" if model.updates_ is None else str(model.updates_),
    )


def _as_written(rows: Sequence[DoubtfulRow], table: TrainingTable) -> list[dict[str, Any]]:
    """Return rows as a file has them: the first is 1, labels are text; with their names, if they have any."""
    written = []
    for row in rows:
        numbers = tuple(map(table.number_of, row.rows))
        one = row._replace(rows=numbers, label=str(row.label), other=str(row.other))._asdict()
        written.append(one | ({"names": [table.name_of(place) for place in row.rows]} if len(table.row_names) else {}))
    return written


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
