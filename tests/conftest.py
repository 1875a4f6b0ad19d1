"""Property tests draw the same examples in every run, and take the time they need; Ctrl-C works wherever tests run."""

import signal

from hypothesis import settings

settings.register_profile("journeyman", deadline=None, derandomize=True)
settings.load_profile("journeyman")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # inherited from a shell that runs them in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
