"""The paper's experiments, figures and tables, run anew."""
