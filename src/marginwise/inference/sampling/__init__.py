"""Sampling from the posterior: chains, what is collected from them, evidence and its gradient."""
