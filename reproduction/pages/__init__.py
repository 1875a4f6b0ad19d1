"""Pages about the reproduction: numbers from the committed tables, verdicts by stated rules, and their text."""
