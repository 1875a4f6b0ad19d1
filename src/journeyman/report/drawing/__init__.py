"""One picture of an MDP: numbers per state as cells, nodes or bars, in matplotlib and in the terminal."""
