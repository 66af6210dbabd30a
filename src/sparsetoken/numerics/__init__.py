"""Quadrature, root finding and convex fitting; knows nothing of attention."""
