"""What all experiments share: pieces of work, rows, claims, the rules of judgement."""
