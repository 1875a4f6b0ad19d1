"""Where to ask next: scores of an acquisition function, drawn and printed."""
