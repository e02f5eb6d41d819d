"""TunedSVC as a model of AutoGluon, in the form that TabArena asks its entries for.

It needs AutoGluon (``pip install autogluon.tabular``); without it the module can be imported, but the model not used.
TabArena: Erickson et al., "TabArena: A Living Benchmark for Machine Learning on Tabular Data", NeurIPS 2025,
https://github.com/autogluon/tabarena. AutoGluon's ``AbstractModel`` says what a model has to define.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from threadpoolctl import threadpool_limits

from marginwise.errors import MarginwiseError
from marginwise.estimators.tuned_svc import TunedSVC
from marginwise.fitting.rank import local_size, numbers_kept
from marginwise.fitting.schedule import SCHEDULE

try:
    from autogluon.core.models import AbstractModel
except ImportError:
    if not TYPE_CHECKING:

        class AbstractModel:
            """Says what is missing."""

            def __init__(self, *args, **kwargs):
                raise MarginwiseError("this model needs AutoGluon (pip install autogluon.tabular)")


#: Part of a time limit in which searches end; the rest is left to training on all rows.
_SEARCHING = 0.5

#: What is worth a try beyond the defaults: fewer candidates, which are faster, and the kernel of one term.
SEARCH_SPACE: dict[str, tuple[Any, ...]] = {"ard": ("auto", 0.0, 0.3, 1.0), "kernel": ("auto", "rbf")}

#: Bytes of the process with AutoGluon, of an element of an exact matrix, of a number that local blocks keep, of one
#: that inducing inputs keep, of a cell, and of a row and class. ``benchmarks/tabarena.py memory`` compares the sum.
_BASE, _EXACT, _LOCAL, _INDUCING, _CELL, _CLASS = 2**29, 100, 4, 12, 100, 200

#: Ways to see the inputs, with local blocks for each.
_VIEWS = 2


def peak_bytes(n_rows: int, n_inputs: int, n_classes: int) -> int:
    """Return about how many bytes of memory a fit takes at its peak."""
    kept = 0
    if n_rows > SCHEDULE.exact_rows:
        m, partitions = local_size(n_rows, n_classes, _VIEWS)
        most = min(SCHEDULE.most_inducing_classes, SCHEDULE.feature_numbers // n_rows)
        inducing = _INDUCING * n_rows * max(SCHEDULE.tuning_rank, most)
        kept = _LOCAL * numbers_kept(n_rows, m, _VIEWS * partitions) if m else inducing
    exact = _EXACT * min(n_rows, SCHEDULE.exact_rows) ** 2
    return _BASE + exact + kept + n_rows * (n_inputs * _CELL + n_classes * _CLASS)


class TunedSVCModel(AbstractModel):  # type: ignore[misc]
    """TunedSVC for AutoGluon and TabArena: columns of numbers and categories with gaps, two classes or more.

    Hyperparameters are the parameters of TunedSVC. Validation rows are not used: the model evaluates itself on held-out
    training rows. License: BSD-3-Clause.
    """

    ag_key = "MARGINWISE"
    ag_name = "TunedSVC"
    seed_name = "random_state"
    _supported_problem_types: ClassVar = ["binary", "multiclass"]
    _default_auxiliary_params_extra: ClassVar = {"valid_raw_types": ["int", "float", "category"]}

    def _fit(
        self,
        X: Any,
        y: Any,
        time_limit: float | None = None,
        sample_weight: Any = None,
        num_cpus: int = 1,
        **kwargs: Any,
    ) -> None:
        parameters = self._get_model_params()
        if time_limit is not None:
            parameters["max_seconds"] = _SEARCHING * time_limit
        with threadpool_limits(num_cpus):
            X = self.preprocess(X, is_train=True)
            self.model = TunedSVC(**parameters).fit(X, y, sample_weight=sample_weight)

    @classmethod
    def warmup(cls, **kwargs: Any) -> None:
        """Compile everything and cache it on disk, as a new installation does once, whatever the data."""
        from marginwise.warmup import warm_up

        warm_up()

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: Any, num_classes: int | None = None, **kwargs: Any) -> int:
        categories = [name for name in X if X[name].dtype.name == "category"]
        n_inputs = X.shape[1] - len(categories) + sum(X[name].nunique() for name in categories)
        return peak_bytes(len(X), n_inputs, num_classes or 2)

    def _more_tags(self) -> dict[str, Any]:
        return {"can_refit_full": True}

    @classmethod
    def config_generator(cls) -> Any:
        """Return the default configuration and the search space for TabArena's runs. It needs TabArena."""
        from autogluon.common.space import Categorical
        from tabarena.utils.config_utils import ConfigGenerator

        space = {name: Categorical(*values) for name, values in SEARCH_SPACE.items()}
        return ConfigGenerator(model_cls=cls, manual_configs=[{}], search_space=space)

    @classmethod
    def model_info(cls) -> Any:
        """Return the entry for TabArena's registry: class, search space and metadata. It needs TabArena."""
        from tabarena.models import MethodMetadata, ModelInfo

        metadata = MethodMetadata.config(
            method=cls.ag_name,
            ag_key=cls.ag_key,
            config_default=f"{cls.ag_name}_c1_BAG_L1",
            compute="cpu",
            is_bag=True,
            can_hpo=True,
            reference_url="https://github.com/marginwise/marginwise",
            verified=False,
        )
        return ModelInfo(cls, cls.config_generator(), metadata, pip_extra=("marginwise",))
