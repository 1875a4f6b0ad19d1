"""The errors that journeyman raises on purpose.

    JourneymanError
    ├── InputError            (also ValueError)    a value breaks a rule; the message names it and the fix
    │   ├── UnsupportedError                       two valid things that do not go together
    │   └── UnknownNameError                       a registry has no entry of this name
    ├── MissingExtraError     (also ImportError)   an optional package is needed
    ├── StudyError            (also OSError)       a study file cannot be read or written; nothing that was kept is lost
    └── InferenceError        (also RuntimeError)  sampling failed, and a wrong answer would be worse than none

A message reads: "<what> must <rule>, got <value> at <where>. <What to do>."
The command line turns these, and nothing else, into a message and exit code 1.
"""


class JourneymanError(Exception):
    """Base of all errors that journeyman raises on purpose.

    Examples
    --------
    >>> from journeyman import JourneymanError, Normal
    >>> try:
    ...     Normal(0)
    ... except JourneymanError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(JourneymanError, ValueError):
    """A value that the caller gave breaks a rule."""


class UnsupportedError(InputError):
    """Two things that are valid by themselves do not go together."""


class UnknownNameError(InputError):
    """A registry has no entry of this name.

    Attributes
    ----------
    what
        Such an entry in words, with its article: "an acquisition function".
    name
        The name that was looked for.
    """

    def __init__(self, message: str, what: str = "an entry", name: str = "") -> None:
        super().__init__(message)
        self.what, self.name = what, name


class MissingExtraError(JourneymanError, ImportError):
    """An optional package is needed and not installed."""


class StudyError(JourneymanError, OSError):
    """A study file cannot be read or written. What was stored before stays as it is."""


class InferenceError(JourneymanError, RuntimeError):
    """A sampler failed in a way that would make its answer wrong."""
