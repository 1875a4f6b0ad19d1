"""What JOURNEYMAN_PLUGINS names: registers everything when it is imported."""

from experiment.outside import register

register()
