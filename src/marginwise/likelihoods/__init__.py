"""Likelihoods of a label given the latent value: the slacks of SVMs, and those of Gaussian process classifiers."""

from marginwise.errors import choose
from marginwise.likelihoods.base import Likelihood, Moments, WeightedLikelihood
from marginwise.likelihoods.classifiers import Logistic, Normalised, Probit
from marginwise.likelihoods.slack import LINEAR, QUADRATIC, SLACKS, Slack, as_slack

__all__ = [
    "LIKELIHOODS",
    "LINEAR",
    "QUADRATIC",
    "SLACKS",
    "Likelihood",
    "Logistic",
    "Moments",
    "Normalised",
    "Probit",
    "Slack",
    "WeightedLikelihood",
    "as_likelihood",
    "as_slack",
]

#: The likelihoods that can be given by name.
LIKELIHOODS: dict[str, Likelihood] = {
    likelihood.name: likelihood
    for likelihood in (*SLACKS.values(), *map(Normalised, SLACKS.values()), Probit(), Logistic())
}


def as_likelihood(likelihood: Likelihood | str, argument: str = "likelihood") -> Likelihood:
    """Return the likelihood of this name, or the likelihood itself.

    Parameters
    ----------
    likelihood : Likelihood or str
        The likelihood, or its name: a key of ``LIKELIHOODS``.
    argument : str, default="likelihood"
        The name of the argument in error messages.

    Returns
    -------
    Likelihood

    Examples
    --------
    >>> sorted(LIKELIHOODS)
    ['linear', 'logistic', 'normalised-linear', 'normalised-quadratic', 'probit', 'quadratic']
    >>> as_likelihood("probit").has_penalty
    False
    """
    return likelihood if isinstance(likelihood, Likelihood) else LIKELIHOODS[choose(argument, likelihood, LIKELIHOODS)]
