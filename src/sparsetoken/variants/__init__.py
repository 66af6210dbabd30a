"""Variants of the training that no theorem covers, by experiment with real tokens."""
