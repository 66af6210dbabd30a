"""The saddle point of a readout: its equations, their Gaussian means, and its solution."""
