"""`journeyman bound`: how many answers a guarantee takes at most, before asking anything."""

from typing import Annotated, Any

import typer

from journeyman.cli import options as opt


def bound(
    states: Annotated[int, typer.Option(help="Number of states.")],
    actions: Annotated[int, typer.Option(help="Number of actions.")],
    beta: Annotated[float, typer.Option(help="Rationality of the expert: larger is closer to optimal.")],
    discount: Annotated[float, typer.Option(help="Discount, between 0 and 1.")],
    epsilon: Annotated[float, typer.Option(help="Regret that is too much, in units of the reward.")],
    delta: opt.Delta,
    support: Annotated[int | None, typer.Option(help="States that the policy can visit at all.")] = None,
    horizon: Annotated[
        int | None,
        typer.Option(help="Maximum steps of an episode. If a clock ends it, --states counts (time, state) pairs."),
    ] = None,
    near_states: Annotated[
        int | None,
        typer.Option(help="States within 1 / (1 - discount) steps of the initial ones, for the paper's heuristic."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say how many answers a guarantee can take at most, whatever the expert says.

    A policy is good enough if its regret stays below epsilon with a probability of at least 1 - delta. As long as it is
    not, there is a state where the expert's answer tells at least EIG_min nats about what is optimal, and only so much
    can be told at all. That bounds the expected number of answers. The numbers are astronomical: they show that asking
    never gets stuck, not how long it takes in practice.

    Example: [bold]journeyman bound --states 64 --actions 5 --beta 2 --discount 0.9 --epsilon 0.1 --delta 0.1[/]. If an
    episode has at most 20 steps and the policy can visit 30 of the states: add [bold]--horizon 20 --support 30[/]. For
    scripts: [bold]--json[/].
    """
    from journeyman.apprentice.bounds import all_bounds, h_max

    sizes: Any = dict(
        states=states, actions=actions, beta=beta, discount=discount, epsilon=epsilon, delta=delta
    )  # fmt: skip
    more: dict[str, Any] = {"support": support, "horizon": horizon, "near_states": near_states}
    found = all_bounds(*sizes.values(), **more)
    entropy = h_max(states, actions)
    record = {"options": sizes | more, "h_max": entropy, "bounds": [entry.to_record() for entry in found]}
    opt.say(as_json, record, "\n".join(bound_lines(found, entropy, epsilon, delta)))


def bound_lines(found: list[Any], entropy: float, epsilon: float, delta: float) -> list[str]:
    """Return bounds (`apprentice.bounds.Bound`) in words."""
    lines = [f"Goal: regret below {epsilon:g} with a probability of at least {1.0 - delta:.4g}."]
    if entropy == 0.0:
        return [*lines, "There is only one action, so nothing has to be learned: 0 answers."]
    lines.append(f"There are at most {entropy:.4g} nats to learn (h_max, for any prior).")
    for entry in found:
        label = "Bound" if entry.is_valid else "Heuristic, NOT a bound"
        lines += [
            "",
            f"{label} ({entry.name}): {entry.explanation}",
            f"  an immediate regret of {entry.threshold:.4g} in some state counts as not correct",
            f"  some answer tells at least {entry.eig_min:.4g} nats (EIG_min)",
            f"  expected number of answers: at most {entry.expected_steps:.4g}",
        ]
    lines += ["", "Bounds hold in the worst case. In practice far fewer answers are needed."]
    return lines
