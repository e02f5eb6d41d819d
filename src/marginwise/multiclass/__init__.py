"""Many classes: one kernel, one latent function for each class, and class probabilities from all of them."""

from marginwise.multiclass.link import SoftmaxLink
from marginwise.multiclass.ordered_link import OrderedLink
from marginwise.multiclass.posterior import (
    ClassPosterior,
    ClassPredictor,
    best_softmax_C,
    class_posterior_from,
    least_squares,
    softmax_map,
)

__all__ = [
    "ClassPosterior",
    "ClassPredictor",
    "OrderedLink",
    "SoftmaxLink",
    "best_softmax_C",
    "class_posterior_from",
    "least_squares",
    "softmax_map",
]
