"""The weights of the tokens, and the classifiers and networks that are built on them."""
