"""The numbers of a readout that is solved, from the distribution of its scores."""
