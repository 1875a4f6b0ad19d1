"""What a machine, an installation and a study are like: what `journeyman doctor` finds, and what to do about it."""

from journeyman.doctor.findings import Finding
from journeyman.doctor.kernels import examine_kernels
from journeyman.doctor.machine import examine_machine
from journeyman.doctor.studies import examine_study

__all__ = ["Finding", "examine_kernels", "examine_machine", "examine_study"]
