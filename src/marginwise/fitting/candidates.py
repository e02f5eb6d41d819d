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
    """Label models that share the searches of one criterion; the first judges all spreads."""

    criterion: Criterion
    labels: tuple[LabelModel, ...]


@dataclass(frozen=True, eq=False)
class CandidateList:
    """The candidates of a fit.

    They are: the main kernel with one length scale, with each of the spreads, and with the spread that gained most and
    each of the other label models; the same with the label models of each other family; each term of the main kernel
    alone; and the main kernel with a few screened inputs.

    Attributes
    ----------
    criterion : Criterion
        What every search maximises.
    form : Model
        That of the main kernel, for any inputs.
    start : Model
        The same for the inputs of the table, with one length scale: where searches begin.
    spreads : tuple of float
        Spreads of the main kernel that are tried one after the other, beyond one length scale; or a single one.
    labels : tuple of LabelModel
        The first judges all spreads.
    auxiliaries : tuple of Model
        Terms of the main kernel alone, each with one length scale: where searches begin. The last label model judges.
    gated : bool
        Whether a spread has to gain on the first folds; otherwise the last one is taken as given.
    screens : tuple of str
        Selections of inputs that are tried with one length scale, each screened anew on every fold.
    columns : tuple of int or None
        The column that each input belongs to, if not to its own.
    scored : bool
        Whether the main kernel is tried on normal scores of the inputs as well.
    others : tuple of Family
        Label models that have searches of their own: those of classes with an order.
    """

    criterion: Criterion
    form: Model
    start: Model
    spreads: tuple[float, ...]
    labels: tuple[LabelModel, ...]
    auxiliaries: tuple[Model, ...] = ()
    gated: bool = True
    screens: tuple[str, ...] = ()
    columns: tuple[int, ...] | None = None
    scored: bool = False
    others: tuple[Family, ...] = ()
    richer: CandidateList | None = None

    @property
    def families(self) -> tuple[Family, ...]:
        """All label models of the main kernel, with what their searches maximise."""
        return Family(self.criterion, self.labels), *self.others

    def family_of(self, labels: LabelModel) -> Family:
        """Return the family of a label model of the main kernel."""
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
    two = n_classes == 2
    chosen = searched_criterion(criterion, slack, n_classes, svm=svm)
    labels: tuple[LabelModel, ...] = (LeastSquaresLabels(), SoftmaxLabels())
    if two and not isinstance(chosen, LeastSquaresLeaveOneOut):
        labels = (SlackLabels(slack),)
    n, n_inputs = shape
    start = start_of(form, columns, n_inputs, prior)
    alone = svm or not exact or ard != "auto"  # an SVM goes with one member
    auxiliaries = () if alone else tuple(prior.mean_of(one, n_inputs) for one in start.single_terms())
    spreads = SCHEDULE.spreads if isinstance(ard, str) else tuple(s for s in (float(ard),) if s > 0)
    if start.kernel.n_columns(n_inputs) < 2 or not start.groups:
        spreads = ()  # there are no two length scales that could differ
    several = start.kernel.n_columns(n_inputs) > SCHEDULE.screened_share * n
    screens = selection_names() if several and start.groups and not alone else ()
    gated = isinstance(ard, str)
    # Two views of the inputs err in different places.
    scored = (many or exact) and ard == "auto" and not svm and bool(start.groups)
    others: tuple[Family, ...] = ()
    if order is not None and not (two or svm):
        others = (Family(OrderedLeaveOneOut(order), (OrderedLeastSquaresLabels(order), ThresholdLabels(order))),)
    found = CandidateList(chosen, form, start, spreads, labels, auxiliaries, gated, screens, columns, scored, others)
    if richer is None or not isinstance(chosen, LeastSquaresLeaveOneOut):
        return found
    return replace(found, richer=replace(found, form=richer, start=start_of(richer, columns, n_inputs, prior)))


def start_of(form: Model, columns: tuple[int, ...] | None, n_inputs: int, prior: Prior) -> Model:
    """Return where searches of a form begin: at the prior's mean, with inputs of one column tied together."""
    tied = form if columns is None else Model(1.0, form.kernel.tied(columns))
    return prior.mean_of(tied, n_inputs)


def searched_criterion(criterion: Criterion | None, slack: Slack, n_classes: int, *, svm: bool) -> Criterion:
    """Return what searches maximise.

    By default that is the leave-one-out probability by least squares, which sees all classes at once, or that by
    expectation propagation for the SVM of two classes. Any other criterion is summed over the pairs of more classes.
    """
    two = n_classes == 2
    if isinstance(criterion, LeastSquaresLeaveOneOut) or (criterion is None and not (svm and two)):
        return LeastSquaresLeaveOneOut()
    if criterion is None:
        return EPLeaveOneOut(slack)
    return criterion if two else OverPairs(criterion)
