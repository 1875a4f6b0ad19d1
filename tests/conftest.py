"""Property tests draw the same examples in every run, and take the time they need."""

from hypothesis import settings

settings.register_profile("journeyman", deadline=None, derandomize=True)
settings.load_profile("journeyman")
