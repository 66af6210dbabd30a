"""The distributions of features and of bags, as weighted nodes."""
