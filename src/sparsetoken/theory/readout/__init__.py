"""The readout of stage 4: one saddle point for features of any law."""
