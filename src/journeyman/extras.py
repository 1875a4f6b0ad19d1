"""Optional packages: imported where they are used, with a message that names the extra."""

from importlib import import_module
from types import ModuleType

from journeyman.errors import MissingExtraError

PURPOSE_OF_EXTRA = {
    "plot": "pictures",
    "tables": "data frames and Parquet files",
    "mcmc": "NUTS sampling, its diagnostics and NetCDF files",
    "gym": "Gymnasium environments",
    "minari": "Minari datasets",
    "studio": "the page where an expert teaches",
    "cluster": "sweeps on a Dask cluster",
}


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Parameters
    ----------
    module
        Dotted name, such as "matplotlib.pyplot".
    extra
        The extra of journeyman that installs it, a key of `PURPOSE_OF_EXTRA`.

    Returns
    -------
    The imported module itself, also for a dotted name.

    Raises
    ------
    MissingExtraError
        If the package is not installed. A package that is installed but broken raises its own error.
    """
    package = module.partition(".")[0]
    purpose = PURPOSE_OF_EXTRA[extra]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtraError(
            f"{package} is needed for {purpose} but is not installed. "
            f"Install it with: pip install 'journeyman[{extra}]'.",
            name=package,
        ) from None
