"""The least squared violation of a margin, on which the capacity rests."""
