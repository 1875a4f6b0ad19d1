"""Models of an expert: the chance of each action, given action values Q(s, .), which are the optimal ones mostly.

The likelihood of demonstrations, the posterior's predictions and the simulated expert all go through one of these, so a
model written outside the package (see `ExpertModel`) serves wherever the built-in one does. Register its class as
`EXPERTS.register("name", Class)` so that a study can store it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from journeyman.checks import check_options, one_of, real_number
from journeyman.errors import InputError
from journeyman.experts.priors import ParameterPrior, prior_from_record, prior_to_record
from journeyman.registry import Registry
from journeyman.types import AnyArray, FloatArray

VALUES = ("optimal", "soft")
BOLTZMANN_KEYS = ("beta", "lapse", "values", "annotators")


@runtime_checkable
class ExpertModel(Protocol):
    """What inference needs to know about an expert. Frozen: a model never changes.

    Arrays of action values have a last axis of actions; minus infinity marks those that do not exist.

    A model may have parameters that are not known. Then it also has

    - `priors`, a dict from their names to priors (see `journeyman.experts.priors`), in order; none means none,
    - log_policy(q, parameters) and pull_back(q, gradient, parameters), with `parameters` `[..., E]`, whose leading axes
      are spread over those of q,
    - parameter_slopes(q, gradient, parameters): the gradient `[..., E]` of sum(gradient * log_policy(q, parameters)),
    - with_parameters(parameters): the model without unknown parameters that has these `[E]`,

    and may have `annotators`, the names of those who have parameters of their own.
    """

    def log_policy(self, q: AnyArray) -> FloatArray:
        """Return log pi(a | s) `[..., A]` for action values `[..., A]`; minus infinity where an action does not exist.

        Adding a constant to all of a state's action values must not matter.
        """

    def pull_back(self, q: AnyArray, gradient: AnyArray) -> FloatArray:
        """Return the gradient in q of sum(gradient * log_policy(q)), `[..., A]`; 0 for actions that do not exist.

        `gradient` is 0 for actions that do not exist.
        """

    def assumption(self) -> str:
        """Return a clause for a certificate: "the expert does ..."."""

    def variants(self) -> tuple[tuple[str, "ExpertModel"], ...]:
        """Return models that a sceptic would try instead, each with a label such as "beta = 2"; may be empty."""

    def to_record(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the model that `to_record` described."""


@dataclass(frozen=True)
class Boltzmann:
    """Better actions more often: pi(a | s) = exp(beta Q(s, a)) / sum over available b of exp(beta Q(s, b)).

    With a lapse, pi(a | s) = (1 - lapse) times that + lapse / number of available actions. What is given as a prior is
    not known, and inferred with the reward.

    Parameters
    ----------
    beta
        Rationality: 0 is uniformly random, large is nearly optimal. A number, or a prior such as `LogNormal(4.0, 0.7)`.
    lapse
        Chance of doing any available action, all alike, whatever they are worth. A number, or a prior such as
        `Beta(1, 9)`.
    values
        "optimal": Q are the optimal action values Q*. "soft": those of an expert who plans with its own noise (maximum
        entropy): V(s) = log(sum of exp(beta Q(s, b))) / beta, but the largest Q where an episode ends.
    annotators
        Names of those who answer, if each has an own beta and lapse, as far as these are not known; they share the
        reward. Every answer must then say whose it is.

    Examples
    --------
    >>> from journeyman import Boltzmann
    >>> import numpy as np
    >>> expert = Boltzmann(2.0)
    >>> np.exp(expert.log_policy(np.array([[1.0, 0.0]]))).round(3).tolist()
    [[0.881, 0.119]]
    """

    beta: float | ParameterPrior
    lapse: float | ParameterPrior = 0.0
    values: str = "optimal"
    annotators: tuple[str, ...] = ()

    links: ClassVar[Mapping[str, str]] = {"beta": "log", "lapse": "logit"}

    def __post_init__(self) -> None:
        """Check the parameters."""
        one_of(self.values, VALUES, "values", "Leave it out for 'optimal'.")
        object.__setattr__(self, "beta", _checked_beta(self.beta, self.values))
        object.__setattr__(self, "lapse", _checked_lapse(self.lapse))
        object.__setattr__(self, "annotators", _checked_annotators(self.annotators))
        if self.annotators and not self.priors:
            raise InputError(
                f"annotators must have something of their own, got {', '.join(self.annotators)} with beta and lapse "
                "known. Give beta or lapse a prior, or leave annotators out."
            )

    @property
    def priors(self) -> dict[str, ParameterPrior]:
        """Priors of the parameters that are not known, by name."""
        parts = {"beta": self.beta, "lapse": self.lapse}
        return {name: part for name, part in parts.items() if isinstance(part, ParameterPrior)}

    @property
    def is_plain(self) -> bool:
        """Whether it is the expert of one known beta alone, on optimal values."""
        return isinstance(self.beta, float) and self.lapse == 0.0 and self.values == "optimal"

    def extras(self) -> str:
        """Say what it has that a plain one has not, as in "beta is unknown, values are soft"."""
        words = [f"{name} is unknown" for name in self.priors]
        words += ["there are lapses"] if "lapse" not in self.priors and self.lapse != 0.0 else []
        return ", ".join([*words, *(["values are soft"] if self.values == "soft" else [])])

    def split(self, parameters: AnyArray | None = None) -> tuple[AnyArray, AnyArray]:
        """Return beta and lapse `[..., 1]`, from unknown parameters `[..., E]` in the order of `priors`."""
        names = tuple(self.priors)
        if names and (parameters is None or np.shape(parameters)[-1:] != (len(names),)):
            raise InputError(
                f"this expert must be given its {' and '.join(names)}, got "
                f"{'nothing' if parameters is None else f'shape {np.shape(parameters)}'}. "
                "Give parameters [..., E], or use expert.with_parameters([...])."
            )
        known: list[AnyArray] = []
        for name in ("beta", "lapse"):
            if name in names:
                assert parameters is not None
                known.append(np.asarray(parameters)[..., names.index(name), None])
            else:
                known.append(np.asarray(getattr(self, name), dtype=np.float64))
        return known[0], known[1]

    def log_policy(self, q: AnyArray, parameters: AnyArray | None = None) -> FloatArray:
        """Return log pi `[..., A]`: exact for any size of beta q; beta 0 is uniform over the actions that exist."""
        beta, lapse = self.split(parameters)
        careful = _log_softmax(q, beta)
        if isinstance(self.lapse, float) and self.lapse == 0.0:
            return careful
        exists = ~np.isneginf(q)
        with np.errstate(divide="ignore"):
            mixed = (1.0 - lapse) * np.exp(careful) + lapse / exists.sum(axis=-1, keepdims=True)
            return np.where(exists, np.log(mixed), -np.inf)

    def pull_back(self, q: AnyArray, gradient: AnyArray, parameters: AnyArray | None = None) -> FloatArray:
        """Return beta (w - pi sum(w)) for the careful policy pi, w = gradient times the share of careful choices."""
        beta, lapse = self.split(parameters)
        careful, weights = self._responsible(q, gradient, beta, lapse)
        return np.asarray(beta * (weights - careful * weights.sum(axis=-1, keepdims=True)))

    def parameter_slopes(self, q: AnyArray, gradient: AnyArray, parameters: AnyArray) -> FloatArray:
        """Return the gradient `[..., E]` of sum(gradient * log_policy(q, parameters)) in the parameters."""
        beta, lapse = self.split(parameters)
        careful, weights = self._responsible(q, gradient, beta, lapse)
        exists = ~np.isneginf(q)
        slopes = []
        if "beta" in self.priors:
            gap = np.where(exists, q - q.max(axis=-1, keepdims=True), 0.0)
            slopes.append((gap * (weights - careful * weights.sum(axis=-1, keepdims=True))).sum(axis=-1))
        if "lapse" in self.priors:
            uniform = 1.0 / exists.sum(axis=-1, keepdims=True)
            mixed = np.where(exists, (1.0 - lapse) * careful + lapse * uniform, 1.0)
            slopes.append((gradient * (uniform - careful) / mixed).sum(axis=-1))
        return np.stack(slopes, axis=-1)

    def _responsible(
        self, q: AnyArray, gradient: AnyArray, beta: AnyArray, lapse: AnyArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the policy without lapses, and the gradient times the chance that an action was no lapse."""
        careful = np.exp(_log_softmax(q, beta))
        if isinstance(self.lapse, float) and self.lapse == 0.0:
            return careful, np.asarray(gradient, dtype=np.float64)
        exists = ~np.isneginf(q)
        mixed = (1.0 - lapse) * careful + lapse / exists.sum(axis=-1, keepdims=True)
        return careful, np.asarray(gradient * (1.0 - lapse) * careful / np.where(exists, mixed, 1.0))

    def with_parameters(self, parameters: AnyArray) -> "Boltzmann":
        """Return the expert who has these parameters `[E]`, in the order of `priors`: one whose all is known."""
        beta, lapse = self.split(np.asarray(parameters, dtype=np.float64))
        return Boltzmann(float(np.ravel(beta)[0]), float(np.ravel(lapse)[0]), self.values)

    def assumption(self) -> str:
        """Say what is assumed."""
        symbol = "Q*" if self.values == "optimal" else "Q"
        text = f"the expert does an action with a chance proportional to exp(beta {symbol})"
        if isinstance(self.beta, float):
            text += f", with beta = {self.beta:.4g}"
        else:
            text += f", with an unknown beta ({self.beta.describe()})"
        if self.values == "soft":
            text += ", Q being soft values: what is to come counts as this expert will act, with a bonus for choice"
        if isinstance(self.lapse, ParameterPrior):
            text += f"; with an unknown chance ({self.lapse.describe()}) it does any available action"
        elif self.lapse > 0.0:
            text += f"; with a chance of {self.lapse:.4g} it does any available action"
        if self.annotators:
            text += f"; {', '.join(self.annotators)} want the same, each with {' and '.join(self.priors)} of their own"
        return text + ": better actions more often, every answer by itself"

    def variants(self) -> tuple[tuple[str, "Boltzmann"], ...]:
        """Return half and twice the rationality, where it is known; none where it is inferred or values follow it."""
        if not isinstance(self.beta, float) or self.values != "optimal":
            return ()
        return tuple((f"beta = {f * self.beta:.4g}", replace(self, beta=f * self.beta)) for f in (0.5, 2.0))

    def to_record(self) -> dict[str, Any]:
        """Return what is known and the priors of what is not, without what is usual."""
        record: dict[str, Any] = {"beta": _part_record(self.beta)}
        if self.lapse != 0.0:
            record["lapse"] = _part_record(self.lapse)
        if self.values != "optimal":
            record["values"] = self.values
        return record | ({"annotators": list(self.annotators)} if self.annotators else {})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the model of a record, or of the table [expert] of a problem file."""
        check_options(record, BOLTZMANN_KEYS, "a Boltzmann expert")
        parts = {key: _part(record[key], key) for key in ("beta", "lapse") if key in record}
        rest = {key: record[key] for key in ("values", "annotators") if key in record}
        return cls(**parts, **rest)


def known_beta(expert: object) -> float | None:
    """Return the beta of an expert that is Boltzmann's with that beta known, and nothing else; None for any other."""
    is_known = type(expert) is Boltzmann and expert.is_plain
    return float(expert.beta) if is_known else None  # type: ignore[attr-defined]


def _log_softmax(q: AnyArray, beta: AnyArray) -> FloatArray:
    gap = q - q.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):  # a product beyond all numbers is a chance of 0
        scaled = np.where(np.isneginf(q), -np.inf, beta * np.where(np.isneginf(q), 0.0, gap))
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)))


def _checked_beta(beta: Any, values: str) -> float | ParameterPrior:
    if isinstance(beta, ParameterPrior):
        low, high = beta.support
        if low < 0.0 or not high > 0.0:
            raise InputError(
                f"the prior of beta must lie above 0, got {beta.describe()}. Example: LogNormal(4.0, 0.7)."
            )
        return beta
    number = real_number(beta, "beta")
    if not 0.0 <= number < np.inf:
        raise InputError(f"beta must be finite and at least 0, got {number}. 0 is random, large nearly optimal.")
    if number == 0.0 and values == "soft":
        raise InputError("beta must be above 0 for soft values, got 0.0. They grow without bounds towards it.")
    return number


def _checked_lapse(lapse: Any) -> float | ParameterPrior:
    if isinstance(lapse, ParameterPrior):
        low, high = lapse.support
        if low < 0.0 or high > 1.0:
            raise InputError(f"the prior of lapse must lie between 0 and 1, got {lapse.describe()}. Use Beta(1, 9).")
        return lapse
    number = real_number(lapse, "lapse")
    if not 0.0 <= number < 1.0:
        raise InputError(f"lapse must be a chance below 1, got {number}. 0 is never, 0.1 one answer in ten.")
    return number


def _checked_annotators(annotators: Any) -> tuple[str, ...]:
    if isinstance(annotators, str) or not isinstance(annotators, Iterable):
        raise InputError(f'annotators must be a list of names, got {annotators!r}. Example: ("anna", "ben").')
    names = tuple(annotators)
    if any(not isinstance(name, str) or not name for name in names) or len(set(names)) < len(names):
        raise InputError(f"annotators must be different names, got {list(names)}. Name each of them once.")
    return names


def _part_record(part: float | ParameterPrior) -> Any:
    return prior_to_record(part) if isinstance(part, ParameterPrior) else part


def _part(value: Any, name: str) -> Any:
    """Return a number as it is, and a table as a prior."""
    return prior_from_record(value, name) if isinstance(value, Mapping) else value


EXPERT_METHODS = ("log_policy", "pull_back", "assumption", "variants", "to_record", "from_record")


PARAMETER_METHODS = ("parameter_slopes", "with_parameters")  # of models with unknown parameters


def missing_methods(expert: object) -> list[str]:
    """Return the names of what an object or a class lacks to be an expert model."""
    priors = getattr(expert, "priors", None)
    more = PARAMETER_METHODS if priors and not isinstance(expert, type) else ()
    return [name for name in (*EXPERT_METHODS, *more) if not callable(getattr(expert, name, None))]


def _complaint(cls: type[Any]) -> str | None:
    missing = missing_methods(cls)
    if not missing:
        return None
    return f"must have the methods of ExpertModel, got {cls.__name__} without {', '.join(missing)}. Add them."


EXPERTS: Registry[type[ExpertModel]] = Registry(
    "an expert model", "journeyman.experts", type, {"boltzmann": Boltzmann}, _complaint
)


def as_expert_model(expert: Any) -> ExpertModel:
    """Return a model as it is, and a number as a Boltzmann expert of that rationality."""
    if isinstance(expert, ExpertModel) and not isinstance(expert, type) and not missing_methods(expert):
        return expert
    if hasattr(expert, "log_policy"):
        missing = missing_methods(expert)
        name = expert.__name__ if isinstance(expert, type) else type(expert).__name__
        raise InputError(
            f"expert must be a number (beta) or an ExpertModel, got {name}"
            + (f" without {', '.join(missing)}. Add what is missing." if missing else ", the class. Make one of it.")
        )
    return Boltzmann(expert)
