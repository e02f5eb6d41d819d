"""Expectation propagation: its fixed point, the way there, and derivatives at it."""
