"""Parts of problem files that tests share."""

REST = """
[reward]
model = "per_state"
[prior]
kind = "normal"
std = 1.0
[expert]
beta = 4.0
"""
