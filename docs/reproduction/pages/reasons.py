"""Why results differ from the paper, found by experiment: one text per claim, with numbers from the tables.

A text may use any number that any claim names: `{jail_share:.0%}`. All of them are in numbers/quantities.csv. One that
is not known yet reads "(no data)". A claim without a text here says that the reason is not known.
"""

from collections.abc import Mapping
from typing import Any

REASONS: dict[int, str] = {
    1: (
        "*An optimal policy.* It is one but for close calls: {jail_left_known:.0f} of the {jail_left:.0f} regrets "
        "that are left at step 10 come from one or two choices between actions whose values differ by at most "
        "{jail_left_gap:.2g}, where the goal pays 100. The median of such choices takes at least "
        "{jail_left_answers:.0f} answers in that very state to get right. The largest regret that is left is "
        "{jail_left_most:.2g}, which no figure shows. That the paper computes values to 1e-5 does not explain it: "
        "most of what is left is larger. *Similar entropies.* They are at step 10, where PAC-EIG is "
        "{jail_entropy_10:.2g} nats ({jail_entropy_10_low:.2g} to {jail_entropy_10_high:.2g}) behind, and part "
        "later, because PAC-EIG has nothing left to ask: what an answer tells about regret has fallen to "
        "{jail_score_PAC-EIG_50:.1g} nats at step 50 (median of the best query), while about the reward an answer to "
        "Reward-EIG still tells {jail_score_Reward-EIG_50:.1g}."
    ),
    2: (
        "*Zero regret.* nuPAC-EIG comes close to it and stays there: its median regret at step 50 is "
        "{two_starts_median_regret:.1g}, but even at step 150 it is exactly 0 on "
        "{two_starts_zero_at_end_nuPAC-EIG:.0f} of {two_starts_n:.0f} instances, while Reward-EIG, which is worse on "
        "average, has arrived on {two_starts_zero_at_end_Reward-EIG:.0f} and PAC-EIG on "
        "{two_starts_zero_at_end_PAC-EIG:.0f}. That is what it is made for: with the first edge at half of epsilon it "
        "does not ask where a mistake costs less, and states that the two initial ones hardly lead to count for "
        "nearly nothing. Nor does the first edge at exactly 0 bring it about: then the regret at step 50 is 0 on "
        "{forms_nuPAC-EIG (0, 1)_num_zero_50:.0f} of {forms_n:.0f} instances, and large on more "
        "([claim 9](#9-which-form-of-pac-eig)). *Hardly any regret.* The instance above 0.1 is one on which the "
        "expert erred: its only answer in the state that matters has a chance of "
        "{mistakes random-10x10 largest chance:.1%} ([which one](#what-is-to-blame)), all methods get the same "
        "answer there, and the posterior believes it. With the expert's noise drawn anew for the whole run "
        "{replay random-10x10 run again num_above:.0f} of {replay random-10x10 run again num_runs:.0f} instances "
        "have such a regret."
    ),
    3: (
        "In regret everything holds. In entropy ActiveVaR falls behind both information gains by "
        "{uniform3 entropy ActiveVaR minus Reward-EIG:.2g} and {uniform3 entropy ActiveVaR minus PAC-EIG:.2g} nats; "
        "that is not nothing (the intervals exclude 0), and about as much as the margin of a quarter of what "
        "Reward-EIG gains over older functions, so that whether this is roughly a match is a matter of taste. It "
        "asks in fewer states, {stall_random-8x8_ActiveVaR_num_states:.0f} after step 50 (effective number) against "
        "{stall_random-8x8_Reward-EIG_num_states:.0f}: where the apprentice may lose most, not where most is unknown."
    ),
    7: (
        "Learning is faster here because particles are carried on from answer to answer in compiled code, so that "
        "choosing becomes a larger part of a step. Choosing from trajectories samples answers for every start state; "
        "{cost_over:.0f} combinations of experiment and method take longer than the paper's 0.03 s."
    ),
    9: (
        "The published behaviour needs three things together. *Weights*: without them all four forms do about what "
        "Reward-EIG does, and share {forms_PAC-EIG_shared_50:.0%} (local) to {forms_PAC-EIG joint_shared_50:.0%} "
        "(joint, as printed) of their first 50 queries with it. *A first edge above zero*: a weight leaves exactly "
        "zero at zero, so that with the printed edges weighted forms still ask about every state "
        "({forms_nuPAC-EIG (0, 1)_shared_50:.0%} and {forms_nuPAC-EIG joint (0, 1)_shared_50:.0%} shared), and their "
        "P[regret > 0.1] at step 50 is {forms_nuPAC-EIG (0, 1)_chance_50:.2f} and "
        "{forms_nuPAC-EIG joint (0, 1)_chance_50:.2f}, against {forms_Reward-EIG_chance_50:.2f} of Reward-EIG. *Local "
        "scope*, for speed: with weights and edges (1/2, 1) it is {forms_nuPAC-EIG_chance_30:.2f} at step 30 "
        "(joint: {forms_nuPAC-EIG joint_chance_30:.2f}) and {forms_nuPAC-EIG_chance_50:.2f} at step 50 (joint: "
        "{forms_nuPAC-EIG joint_chance_50:.2f}). So what the paper ran as nuPAC-EIG will have had the edges of its "
        "appendix, not those of its main text."
    ),
    10: (
        "{examples_agree:.0f} of {examples_judged:.0f} numbers and choices agree. What differs is a slip of the pen, "
        "or "
        "holds for another apprentice than the deterministic one that the paper uses elsewhere; the notes in the "
        "table say "
        "which. The choices of the appendices all agree: each older function asks the worse question there."
    ),
}


class Numbers(dict[str, Any]):
    """Named numbers; one that is missing says so."""

    def __missing__(self, key: str) -> "Unknown":
        """Return what stands for a number that is not known."""
        return Unknown()


class Unknown:
    """A number that is not known yet, in any format."""

    def __format__(self, _: str) -> str:
        """Return words for it."""
        return "(no data)"


def reason(number: int, quantities: Mapping[str, float]) -> str | None:
    """Return why a claim comes out differently, with its numbers; None if nothing was written."""
    text = REASONS.get(number)
    return None if text is None else text.format_map(Numbers(quantities))
