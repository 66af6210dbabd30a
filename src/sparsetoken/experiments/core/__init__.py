"""Common parts of all experiments: pieces of work, rows, claims, and rules of judgement."""
