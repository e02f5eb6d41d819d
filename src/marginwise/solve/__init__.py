"""The support vector machine: the maximum of the posterior."""
