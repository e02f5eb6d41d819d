"""Summaries and reports of fitted models."""
