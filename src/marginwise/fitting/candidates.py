"""What could be the model: the candidates that a fit searches for, judges on common folds and stacks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from marginwise.criteria.base import Criterion
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.criteria.ordered import OrderedLeaveOneOut
from marginwise.criteria.pairs import OverPairs
from marginwise.fitting.labels import (
    LabelModel,
    LeastSquaresLabels,
    OrderedLeastSquaresLabels,
    SlackLabels,
    SoftmaxLabels,
    ThresholdLabels,
)
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.screening import selection_names
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.priors import Prior


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to model a table.

    Attributes
    ----------
    start : Model
        The form of the kernel, with one length scale; searches begin there.
    spread : float
        Prior standard deviation of the length scales' log ratios; 0 is one length scale for all inputs.
    labels : LabelModel
        From latent functions to class probabilities.
    auxiliary : bool
        Whether its kernel has one term, which tells nothing of the shape of the latent function.
    screen : str
        Which inputs it sees, by a name of :meth:`Screening.selections`; all if it is empty.
    """

    start: Model
    spread: float
    labels: LabelModel
    auxiliary: bool = False
    screen: str = ""


@dataclass(frozen=True, eq=False)
class Family:
    """Candidates that share searches: a form of the kernel, what is maximised, and label models; the first one leads.

    An auxiliary family has one term of the kernel, and one length scale only.
    """

    start: Model
    criterion: Criterion
    labels: tuple[LabelModel, ...]
    auxiliary: bool = False

    def candidate(self, spread: float, labels: LabelModel, screen: str = "") -> Candidate:
        """Return one of its candidates."""
        return Candidate(self.start, spread, labels, self.auxiliary, screen)


@dataclass(frozen=True, eq=False)
class CandidateList:
    """The candidates of a fit.

    They are, for each family: its kernel with one length scale, with each of the spreads, and with the spread that
    gained most and each of its other label models. And the main kernel with a few screened inputs.

    Attributes
    ----------
    families : tuple of Family
        The main one, that of classes with an order, and the auxiliary ones.
    form : Model
        That of the main kernel, for any inputs.
    spreads : tuple of float
        Spreads that are tried one after the other, beyond one length scale; or a single one.
    gated : bool
        Whether a spread has to gain on the first folds; otherwise the last one is taken as given.
    screens : tuple of str
        Selections of inputs that are tried with one length scale, each screened anew on every fold.
    columns : tuple of int or None
        The column that each input belongs to, if not to its own.
    scored : bool
        Whether the main kernel is tried on normal scores of the inputs as well.
    richer : CandidateList or None
        The same with more terms in the main kernel, which take its place if the first search gains enough by them.
    """

    families: tuple[Family, ...]
    form: Model
    spreads: tuple[float, ...]
    gated: bool = True
    screens: tuple[str, ...] = ()
    columns: tuple[int, ...] | None = None
    scored: bool = False
    richer: CandidateList | None = None

    @property
    def main(self) -> Family:
        """The family that stands for all."""
        return self.families[0]

    def family_of(self, labels: LabelModel) -> Family:
        """Return the first family with a label model."""
        return next(family for family in self.families if labels in family.labels)


def candidates(
    form: Model,
    shape: tuple[int, int],
    n_classes: int,
    *,
    columns: tuple[int, ...] | None,
    ard: str | float,
    criterion: Criterion | None,
    slack: Slack,
    prior: Prior,
    svm: bool,
    exact: bool,
    many: bool = False,
    order: tuple[int, ...] | None = None,
    richer: Model | None = None,
) -> CandidateList:
    """Return the declared list for a table.

    Parameters
    ----------
    form : Model
        The main form of the kernel, with one length scale.
    shape : (int, int)
        Rows and inputs.
    n_classes : int
    columns : tuple of int or None
        The column that each input belongs to, if not to its own.
    ard : "auto" or float
        The spreads to try, or the one that is given.
    criterion : Criterion or None
        That which was asked for, for two classes; None is the default.
    slack : Slack
        That of the SVM.
    prior : Prior
        Where searches begin: at its mean.
    svm : bool
        Whether the SVM's own predictions are wanted: then the slack likelihood is tuned for.
    exact : bool
        Whether the Gram matrix is exact: where it is of low rank, so many rows tell terms of a kernel apart.
    many : bool
        Whether the model is tuned on a sample of the rows and trained on all, as the schedule has it.
    order : tuple of int or None
        The numbers of the classes from the lowest to the highest, if they have an order; two always have one.
    richer : Model or None
        A form with more terms that takes the place of the main one if ``ls-loo`` gains by it.
    """
    chosen = searched_criterion(criterion, slack, n_classes, svm=svm)
    every: tuple[LabelModel, ...] = (
        (LeastSquaresLabels(), SoftmaxLabels()) if chosen.multiclass else (SlackLabels(slack),)
    )
    labels = tuple(one for one in every if one.suits(n_classes))
    n, n_inputs = shape
    start = start_of(form, columns, n_inputs, prior)
    families = [Family(start, chosen, labels)]
    if order is not None and not svm:
        ordered = tuple(kind(order) for kind in (OrderedLeastSquaresLabels, ThresholdLabels))
        if all(one.suits(n_classes) for one in ordered):
            families.append(Family(start, OrderedLeaveOneOut(order), ordered))
    alone = svm or not exact or ard != "auto"  # an SVM goes with one member
    terms = () if alone else start.single_terms()
    families += [Family(prior.mean_of(one, n_inputs), chosen, labels[-1:], auxiliary=True) for one in terms]
    spreads = SCHEDULE.spreads if isinstance(ard, str) else tuple(s for s in (float(ard),) if s > 0)
    if start.kernel.n_columns(n_inputs) < 2 or not start.groups:
        spreads = ()  # there are no two length scales that could differ
    several = start.kernel.n_columns(n_inputs) > SCHEDULE.screened_share * n
    screens = selection_names() if several and start.groups and not alone else ()
    gated = isinstance(ard, str)
    # Two views of the inputs err in different places.
    scored = (many or exact) and ard == "auto" and not svm and bool(start.groups)
    found = CandidateList(tuple(families), form, spreads, gated, screens, columns, scored)
    if richer is None or not isinstance(chosen, LeastSquaresLeaveOneOut):
        return found
    more = start_of(richer, columns, n_inputs, prior)
    grown = tuple(one if one.auxiliary else replace(one, start=more) for one in families)
    return replace(found, richer=replace(found, form=richer, families=grown))


def start_of(form: Model, columns: tuple[int, ...] | None, n_inputs: int, prior: Prior) -> Model:
    """Return where searches of a form begin: at the prior's mean, with inputs of one column tied together."""
    tied = form if columns is None else Model(1.0, form.kernel.tied(columns))
    return prior.mean_of(tied, n_inputs)


def searched_criterion(criterion: Criterion | None, slack: Slack, n_classes: int, *, svm: bool) -> Criterion:
    """Return what searches maximise.

    By default that is the leave-one-out probability by least squares, which sees all classes at once, or that by
    expectation propagation for the SVM of two classes. Any other criterion is summed over the pairs of more classes.
    """
    if criterion is not None:
        return criterion if criterion.suits(n_classes) else OverPairs(criterion)
    of_svm = EPLeaveOneOut(slack)
    return of_svm if svm and of_svm.suits(n_classes) else LeastSquaresLeaveOneOut()
