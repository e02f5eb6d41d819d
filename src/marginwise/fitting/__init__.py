"""The fit in four ideas: candidates, one search each, common folds, stacking."""
