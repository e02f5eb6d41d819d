"""How the parameters of a TunedSVC say to fit the ensemble of a table."""

from __future__ import annotations

from typing import Any

from marginwise._arrays import Mask
from marginwise.estimators._classes import ClassificationTable
from marginwise.estimators._parameters import AUTO, BEST, VOTE, as_template, chosen_criterion, chosen_rank
from marginwise.fitting.candidates import candidates
from marginwise.fitting.config import FitConfig
from marginwise.fitting.rank import RankPolicy
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.stacking import Vote
from marginwise.priors import Prior
from marginwise.search import Limits, as_search
from marginwise.search.settings import SearchSettings


def fit_config(
    model: Any,
    table: ClassificationTable,
    inputs: Any,
    aside: Mask,
    seed: int,
    limits: Limits,
    order: tuple[int, ...] | None,
) -> FitConfig:
    """Return how the ensemble is fitted."""
    criterion, slack = chosen_criterion(model.criterion, model.slack)
    prior = Prior() if model.prior is None else model.prior
    settings = SearchSettings(
        search=as_search(model.search),
        prior=prior,
        restarts=model.restarts,
        seed=seed,
        limits=limits,
        progress=model.progress,
    )
    policy = RankPolicy(chosen_rank(model.rank, inputs), seed)
    many = policy.rank == AUTO
    richer = policy.exact and model.kernel == AUTO and len(table.codes) > SCHEDULE.additive_from
    declared = candidates(
        as_template(model.kernel, additive=many),
        inputs.shape,
        len(table.classes),
        columns=model._encoding.columns,
        ard=model.ard,
        criterion=criterion,
        slack=slack,
        prior=prior,
        svm=model.predictor == "svm",
        exact=policy.exact,
        many=many,
        richer=as_template(AUTO, additive=True) if richer else None,
        order=order,
    )
    return FitConfig(
        declared,
        slack,
        settings,
        aside,
        table.importance,
        policy,
        all_optima=model.combine != BEST,
        vote=Vote(table.importance) if model.combine == VOTE else None,
        svm=model.predictor == "svm",
    )
