"""Gaussian process classifiers of GPy and GPyTorch behind the interface of scikit-learn, for classify.py.

A constant plus a squared exponential, with a length scale for each input (``ard``) or one for all. Both maximise their
own evidence, from the start of scikit-learn's in classify.py: amplitude 1, constant 0.1, length scales √d.
``pip install GPy torch gpytorch``.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class _GaussianProcess(ClassifierMixin, BaseEstimator):
    """Labels from probabilities; subclasses fit on labels 0 and 1."""

    def __init__(self, ard=True, seed=0):
        self.ard, self.seed = ard, seed

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._fit(X, codes)
        return self

    def predict_proba(self, X):
        positive = self._positive(X)
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        return self.classes_[(self._positive(X) > 0.5).astype(int)]


class GPyEP(_GaussianProcess):
    """GPy: expectation propagation with the probit likelihood, evidence by L-BFGS.

    "nested": it is run to its fixed point for each evaluation. By default ("alternated") GPy keeps the sites of the
    start through the search, which ends far below the maximum unless it is called again and again.
    """

    def _fit(self, X, codes):
        import GPy

        d = X.shape[1]
        kernel = GPy.kern.RBF(d, ARD=self.ard, lengthscale=np.sqrt(d) * np.ones(d if self.ard else 1))
        kernel += GPy.kern.Bias(d, variance=0.1)
        inference = GPy.inference.latent_function_inference.expectation_propagation.EP(ep_mode="nested")
        labels = codes[:, None].astype(float)
        self.model_ = GPy.models.GPClassification(X, labels, kernel=kernel, inference_method=inference)
        self.model_.optimize("lbfgsb", max_iters=200)

    def _positive(self, X):
        return self.model_.predict(X)[0][:, 0]


class GPyTorchVariational(_GaussianProcess):
    """GPyTorch: all training rows as inducing points, a Gaussian with full covariance, probit likelihood, ELBO by Adam.

    The classifier of its documentation with more steps; after 1000 at rate 0.1 the bound still rises slowly on Crabs.
    """

    def __init__(self, ard=True, seed=0, steps=1000, rate=0.1):
        super().__init__(ard, seed)
        self.steps, self.rate = steps, rate

    def _fit(self, X, codes):
        import gpytorch
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        inputs, labels = torch.tensor(X), torch.tensor(codes, dtype=torch.float64)
        self.model_, self.likelihood_ = _approximate(inputs, self.ard), gpytorch.likelihoods.BernoulliLikelihood()
        bound = gpytorch.mlls.VariationalELBO(self.likelihood_, self.model_, len(labels))
        optimiser = torch.optim.Adam(self.model_.parameters(), lr=self.rate)
        for _ in range(self.steps):
            optimiser.zero_grad()
            loss = -bound(self.model_(inputs), labels)
            loss.backward()
            optimiser.step()
        self.model_.eval()

    def _positive(self, X):
        import torch

        with torch.no_grad():
            return self.likelihood_(self.model_(torch.tensor(X))).mean.numpy()


def _approximate(inputs, ard):
    """Return GPyTorch's model with an inducing point at each row."""
    import gpytorch
    from gpytorch import kernels, variational

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            law = variational.CholeskyVariationalDistribution(len(inputs))
            super().__init__(variational.VariationalStrategy(self, inputs, law, learn_inducing_locations=False))
            self.mean_module = gpytorch.means.ConstantMean()  # in the place of the constant in the kernel
            rbf = kernels.RBFKernel(ard_num_dims=inputs.shape[1] if ard else None)
            rbf.lengthscale = inputs.shape[1] ** 0.5
            self.covar_module = kernels.ScaleKernel(rbf)
            self.covar_module.outputscale = 1.0

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    return Model().double()
