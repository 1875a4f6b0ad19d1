"""Why results differ from the paper, found by experiment: one text per claim, with numbers from the tables.

A text may use any number that any claim names: `{jail_share:.0%}`. All of them are in numbers/quantities.csv. As long
as one of them is not known, and for a claim without a text here, the page says that the reason is not known.
"""

from collections.abc import Mapping
from string import Formatter

REASONS: dict[int, str] = {
    1: (
        "*An optimal policy.* It is one but for close calls. From step 10 on, {jail_left:.0f} runs on "
        "{jail_left_seeds:.0f} instances have some regret at some time; for {jail_left_known:.0f} of them the largest "
        "comes from one or two choices between actions whose values differ by at most {jail_left_gap:.2g}, where the "
        "goal pays 100. Half of these instances need {jail_left_answers:.0f} answers or more in that very state to "
        "get it right, as long as other states do not help. The largest regret of all is {jail_left_most:.2g}, which "
        "a figure hardly shows. *Similar entropies.* At step 10 they are not told apart: PAC-EIG minus Reward-EIG is "
        "{jail_entropy_10:.2g} nats ({jail_entropy_10_low:.2g} to {jail_entropy_10_high:.2g}). Later they diverge. "
        "What the best query of PAC-EIG tells about regret has fallen to {jail_score_PAC-EIG_50:.1g} nats at step 50 "
        "(median): there is hardly anything left that it could ask about; an answer to Reward-EIG still tells "
        "{jail_score_Reward-EIG_50:.1g} about the reward."
    ),
    2: (
        "*Zero regret.* nuPAC-EIG comes close to it and stays there: its median regret at step 50 is "
        "{two_starts_median_regret:.1g}, but even at step 150 it is exactly 0 on "
        "{two_starts_zero_at_end_nuPAC-EIG:.0f} of {two_starts_n:.0f} instances, while Reward-EIG, which is worse on "
        "average, has arrived on {two_starts_zero_at_end_Reward-EIG:.0f} and PAC-EIG on "
        "{two_starts_zero_at_end_PAC-EIG:.0f}. That is what it is made for: with the first edge at half of epsilon it "
        "does not ask where a mistake costs less, and states that the two initial ones hardly lead to count for "
        "nearly nothing. *Hardly any regret.* On the one instance above 0.1 the posterior is sure and wrong "
        "(P[regret > 0.1] is {mistakes random-10x10 failure_chance:.3f}), so that nothing is asked there again. It "
        "is sure because of an answer in the state that matters that the expert gives with a chance of "
        "{mistakes random-10x10 wrong_chance:.1%}: with that answer put right it would be "
        "{mistakes random-10x10 failure_chance_put_right:.2f}, without it "
        "{mistakes random-10x10 failure_chance_left_out:.2f}, and the policy the same. A whole run with other noise "
        "leaves {mistakes random-10x10 true_regret_run_again:.2g} there ([replays](#what-is-to-blame)). But with "
        "other noise for all instances {replay random-10x10 run again num_above:.0f} of "
        "{replay random-10x10 run again num_runs:.0f} is above 0.1 again, another one: with an expert who errs, about "
        "one in sixteen is to be expected. *Plain PAC-EIG.* In true regret the instances differ too much to call it "
        "comparable by this margin; in P[regret > 0.1] it is within "
        "{goals_random-10x10 chance PAC-EIG minus Reward-EIG low:.2g} to "
        "{goals_random-10x10 chance PAC-EIG minus Reward-EIG high:.2g} of Reward-EIG."
    ),
    3: (
        "In regret everything holds; by believed regret, which varies less, ActiveVaR is even ahead of Reward-EIG "
        "({uniform3 believed ActiveVaR minus Reward-EIG:.2g}, {uniform3 believed ActiveVaR minus Reward-EIG low:.2g} "
        "to {uniform3 believed ActiveVaR minus Reward-EIG high:.2g}). In entropy it falls behind both information "
        "gains by {uniform3 entropy ActiveVaR minus Reward-EIG:.2g} and "
        "{uniform3 entropy ActiveVaR minus PAC-EIG:.2g} nats: that is not nothing (the intervals exclude 0), and "
        "about as much as the margin of a quarter of what Reward-EIG gains over older functions, so that whether "
        "this is roughly a match depends on the margin. It asks in fewer states, "
        "{stall_random-8x8_ActiveVaR_num_states:.0f} after step 50 (effective number) against "
        "{stall_random-8x8_Reward-EIG_num_states:.0f}."
    ),
    7: (
        "Learning is faster here because particles are carried on from answer to answer in compiled code, so that "
        "choosing becomes a larger part of a step. {cost_over:.0f} combinations of experiment and method take longer "
        "than the paper's 0.03 s to choose: {cost_over_trajectories:.0f} with trajectories, whose answers are sampled "
        "for every start state, and {cost_over_annotations:.0f} with annotations, where every state's samples are "
        "sorted by regret. How long Markov chains of the paper's lengths take in this code is in the first table, "
        "where they were run."
    ),
    13: (
        "On 10x10 it does fail: nearest neighbours are off by {entropy random-10x10 nearest neighbours 50:.2g} nats at "
        "step 50, where Reward-EIG gains {entropy random-10x10 gain 50:.2g} over random, the normal distribution by "
        "{entropy random-10x10 normal 50:.2g}. But on 8x8, with 64 unknown rewards, where the paper keeps to nearest "
        "neighbours, they are off by {entropy random-8x8 nearest neighbours 50:.2g} nats, against a gain of "
        "{entropy random-8x8 gain 50:.2g}: the same objection holds there."
    ),
    8: (
        "*Inside active learning* it is unreliable in another way than we had expected: not too sure, but without a "
        "hold. Its policies are bad and it says so: with td_weight 0.5 P[regret > 0.1] is "
        "{learning half chance:.2f} on average, and regret is above 0.1 at "
        "{learning half share:.0%} of the steps; with 0.1, whose intervals cover what they should, "
        "{learning tenth chance:.2f} and {learning tenth share:.0%}. It stays so however many "
        "answers there are, because its standard deviations do not depend on their number. So the part about belief "
        "does not hold as it was written. What it cannot do is choose questions: after 30 answers to random ones the "
        "true regret is {learning half random regret:.2g} with td_weight 0.5, after 30 to Reward-EIG "
        "{learning half Reward-EIG regret:.2g} (smc: {learning smc random regret:.2g} and "
        "{learning smc Reward-EIG regret:.2g}); with 0.1 nothing much is learned either way "
        "({learning tenth random regret:.2g} and {learning tenth Reward-EIG regret:.2g})."
    ),
    9: (
        "On {forms_n:.0f} instances, two things make the difference, and a third makes it come sooner. *Weights*: "
        "without them P[regret > 0.1] at step 50 is {forms_PAC-EIG (1/2, 1)_chance_50:.2f} to "
        "{forms_PAC-EIG joint_chance_50:.2f}, that of Reward-EIG {forms_Reward-EIG_chance_50:.2f}, and "
        "{forms_PAC-EIG_shared_50:.0%} (local) to {forms_PAC-EIG joint_shared_50:.0%} (joint, as printed) of the first "
        "50 queries are those of Reward-EIG. *A first edge above zero*: a weight leaves exactly zero at zero, so that "
        "with the printed edges weighted forms still ask about nearly every state "
        "({forms_nuPAC-EIG (0, 1)_shared_50:.0%} and {forms_nuPAC-EIG joint (0, 1)_shared_50:.0%} shared), and "
        "P[regret > 0.1] at step 50 is {forms_nuPAC-EIG (0, 1)_chance_50:.2f} and "
        "{forms_nuPAC-EIG joint (0, 1)_chance_50:.2f}. *Local scope*: with weights and edges (1/2, 1) it is "
        "{forms_nuPAC-EIG_chance_30:.2f} at step 30 (joint: {forms_nuPAC-EIG joint_chance_30:.2f}) and "
        "{forms_nuPAC-EIG_chance_50:.2f} at step 50 (joint: {forms_nuPAC-EIG joint_chance_50:.2f}). What the paper "
        "says is consistent with the edges of the paper's appendix, not with those of its main text."
    ),
    10: (
        "{examples_agree:.0f} of {examples_judged:.0f} numbers and choices agree. What differs is a slip of the pen, "
        "holds for another apprentice than the deterministic one that the paper uses elsewhere, or holds for an "
        "expert without noise alone; the notes in the table say which. The choices of the appendices all agree: each "
        "older function asks the worse question there."
    ),
}


def reason(number: int, quantities: Mapping[str, float]) -> str | None:
    """Return why a claim comes out differently, with its numbers; None if that, or one of them, is not known."""
    text = REASONS.get(number)
    if text is None or any(field not in quantities for _, field, _, _ in Formatter().parse(text) if field):
        return None
    return text.format_map(quantities)
