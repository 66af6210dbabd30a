"""Quadrature, root finding and convex fitting, independent of attention."""
