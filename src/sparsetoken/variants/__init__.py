"""Variants of training not covered by theorems, simulated with real tokens."""
