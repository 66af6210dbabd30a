"""Tokens of a covariance: their spectrum, their queries, and what can be separated."""
