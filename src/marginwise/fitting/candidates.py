"""What could be the model: the candidates that a fit searches for, judges on common folds and stacks."""

from __future__ import annotations

from dataclasses import dataclass

from marginwise.criteria import Criterion
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.criteria.pairs import OverPairs
from marginwise.fitting.labels import LabelModel, LeastSquaresLabels, SlackLabels, SoftmaxLabels
from marginwise.fitting.schedule import SCHEDULE
from marginwise.likelihoods import Slack
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
        Whether it has a simpler kernel than the others, whose terms tell nothing of the shape of the latent function.
    """

    start: Model
    spread: float
    labels: LabelModel
    auxiliary: bool = False


@dataclass(frozen=True, eq=False)
class CandidateList:
    """The candidates of a fit.

    They are: each kernel with one length scale; the first one with each of the spreads; and with the spread that gained
    most, each of the other label models.

    Attributes
    ----------
    criterion : Criterion
        What every search maximises.
    kernels : tuple of Model
        Forms of the kernel, with one length scale; the first is the main one.
    spreads : tuple of float
        Spreads of the main kernel that are tried one after the other, beyond one length scale; or a single one.
    labels : tuple of LabelModel
        The first judges all kernels and spreads.
    gated : bool
        Whether a spread has to gain on the first folds; otherwise the last one is taken as given.
    """

    criterion: Criterion
    kernels: tuple[Model, ...]
    spreads: tuple[float, ...]
    labels: tuple[LabelModel, ...]
    gated: bool = True


def candidates(
    start: Model,
    n_inputs: int,
    n_classes: int,
    *,
    ard: str | float,
    criterion: Criterion | None,
    slack: Slack,
    prior: Prior,
    svm: bool,
    exact: bool,
) -> CandidateList:
    """Return the declared list for a table.

    Parameters
    ----------
    start : Model
        The main form of the kernel, with one length scale.
    n_inputs, n_classes : int
    ard : "auto" or float
        The spreads to try, or the one that is given.
    criterion : Criterion or None
        That which was asked for, for two classes; None is the default.
    slack : Slack
        That of the SVM.
    prior : Prior
        Where searches of a simpler kernel begin: at its mean.
    svm : bool
        Whether the SVM's own predictions are wanted: then the slack likelihood is tuned for.
    exact : bool
        Whether the Gram matrix is exact: where it is of low rank, so many rows tell terms of a kernel apart.
    """
    chosen = searched_criterion(criterion, slack, n_classes, svm=svm)
    two = n_classes == 2
    labels: tuple[LabelModel, ...] = (LeastSquaresLabels(), SoftmaxLabels())
    if two and isinstance(chosen, LeastSquaresLeaveOneOut):
        labels = (*labels, SlackLabels(slack, rescaled=True))
    elif two:
        labels = (SlackLabels(slack),)
    simpler = start.simpler() if exact and ard == "auto" and two else None
    kernels = (start,) if simpler is None else (start, prior.mean_of(simpler, n_inputs))
    spreads = SCHEDULE.spreads if isinstance(ard, str) else tuple(s for s in (float(ard),) if s > 0)
    if start.kernel.n_columns(n_inputs) < 2 or not start.groups:
        spreads = ()  # there are no two length scales that could differ
    return CandidateList(chosen, kernels, spreads, labels, gated=isinstance(ard, str))


def searched_criterion(criterion: Criterion | None, slack: Slack, n_classes: int, *, svm: bool) -> Criterion:
    """Return what searches maximise.

    By default that is the leave-one-out probability by least squares, which sees all classes at once, or that by
    expectation propagation for the SVM of two classes. Any other criterion is summed over the pairs of more classes.
    """
    if isinstance(criterion, LeastSquaresLeaveOneOut) or (criterion is None and not (svm and n_classes == 2)):
        return LeastSquaresLeaveOneOut()
    if criterion is None:
        return EPLeaveOneOut(slack)
    return criterion if n_classes == 2 else OverPairs(criterion)
