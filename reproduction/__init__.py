"""The paper's experiments: specs, runs, tables and pages. Not in the installed package; it is run from a checkout."""
