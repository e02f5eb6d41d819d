"""Kernels: covariance functions with their hyperparameters, and sums of them."""

from marginwise.kernels.additive import AdditiveLaplacian
from marginwise.kernels.base import Hyperparameter, Kernel, Normal
from marginwise.kernels.blend import Blend
from marginwise.kernels.borrowed import FunctionKernel, GPKernel
from marginwise.kernels.constant import Constant
from marginwise.kernels.laplacian import Laplacian
from marginwise.kernels.linear import Linear
from marginwise.kernels.precomputed import Precomputed
from marginwise.kernels.rbf import RBF
from marginwise.kernels.sum import Sum

__all__ = [
    "RBF",
    "AdditiveLaplacian",
    "Blend",
    "Constant",
    "FunctionKernel",
    "GPKernel",
    "Hyperparameter",
    "Kernel",
    "Laplacian",
    "Linear",
    "Normal",
    "Precomputed",
    "Sum",
]
