"""An explanation in words, for people who are no experts."""

from journeyman.problem_files.explanation import Explanation

MODEL_WORDS = {
    "per_state": "one unknown number per state",
    "per_state_action": "one unknown number per state and action",
    "features": "known features times unknown numbers",
}


def counted(number: int, noun: str) -> str:
    """Return "1 state" or "3 states"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def percent(chance: float) -> str:
    """Return a chance as a percentage that is never rounded to certainty."""
    return f"{min(100 * chance, 99.99):.4g} %" if 0.995 <= chance < 1.0 else f"{100 * chance:.0f} %"


def explanation_lines(explanation: Explanation) -> list[tuple[str, str]]:
    """Return what a problem is as (title, sentence) pairs."""
    problem, mdp = explanation.problem, explanation.problem.mdp
    unreachable = mdp.num_states - explanation.num_reachable
    reach = "all can be reached" if not unreachable else f"{unreachable} cannot be reached from an initial one"
    model = problem.reward_model
    horizon = 1.0 / (1.0 - mdp.discount)
    lines = [
        (
            "Size",
            f"{counted(mdp.num_states, 'state')}, {counted(mdp.num_actions, 'action')}, "
            f"{counted(explanation.num_transitions, 'transition')}",
        ),
        ("States", f"{int(mdp.terminal.sum())} terminal, {int((mdp.initial > 0).sum())} initial; {reach}"),
        ("Questions", f"{counted(int(problem.queryable.sum()), 'state')} may be asked about"),
        (
            "Reward",
            f"{MODEL_WORDS[model.kind]} ({model.num_parameters} in all), {type(problem.prior).__name__} prior",
        ),
        ("Discount", f"{mdp.discount:g}: the future counts for about {horizon:.3g} steps"),
    ]
    return [*lines, ("Expert", _expert(explanation))]


def _expert(explanation: Explanation) -> str:
    """Say in words what beta means for this problem."""
    expert, size = explanation.problem.expert.assumption(), ""
    if explanation.halving_gap is not None:
        expert = f"beta = {explanation.problem.beta:g}"
        size = f": an action that is worth {explanation.halving_gap:.3g} less is chosen half as often"
    if explanation.best_action_chance is None or explanation.best_action_range is None:
        return f"{expert}{size}. Nobody can be asked, so there is no more to say."
    low, high = explanation.best_action_range
    return (
        f"{expert}{size}. If the reward is as the prior says, this expert picks a best action "
        f"{percent(explanation.best_action_chance)} of the time (between {percent(low)} and {percent(high)} for most "
        f"rewards); one who guesses, {percent(explanation.chance_at_random or 0.0)} of the time."
    )
