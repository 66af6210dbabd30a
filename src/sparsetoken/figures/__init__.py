"""Figures: pure functions from points to a matplotlib figure."""
