"""Failure modes: the counter-examples of Appendices A and C, the paper's numbers beside ours.

What the paper prints is a constant here, with its place; ours comes from the real acquisition functions on the real
worlds, with exact inference wherever the prior allows it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, most_likely_optimal, regrets
from journeyman.experts import questions_at
from journeyman.inference import Posterior, infer
from journeyman.worlds import World, make_world
from reproduction.brown_example import brown_comparisons
from reproduction.comparison import PRINTED, Comparison, compared, prior_of, state_name
from reproduction.result_table import ResultTable, Written, terminal_text, write_tables

BITS = np.log(2.0)
PRINTED_DIGITS = 5e-4  # 0.860 has three
NUM_PRIOR_DRAWS, NUM_NET_POINTS, NUM_QUESTIONS = 500, 512, 5


def write_failure_modes(folder: str | Path) -> Written:
    """Write the table of counter-examples: `failure-modes.md` and `failure-modes.csv`."""
    comparisons = all_comparisons()
    written = write_tables(folder, [comparison_table(comparisons)])
    return Written(written.paths, terminal_text(example_tables(comparisons)))


def comparison_table(comparisons: Sequence[Comparison]) -> ResultTable:
    """Return comparisons as one table, for files."""
    title = "Failure modes: counter-examples of the paper's Appendices A and C"
    return ResultTable("failure-modes", title, Comparison._fields, tuple(comparisons), (verdict(comparisons),))


def example_tables(comparisons: Sequence[Comparison]) -> list[ResultTable]:
    """Return comparisons as one narrower table per example, for the terminal."""
    tables = []
    for example in dict.fromkeys(item.example for item in comparisons):
        own = [item for item in comparisons if item.example == example]
        rows = tuple((item.quantity, item.paper, item.ours, item.agrees, item.note) for item in own)
        title = f"{example}: {', '.join(dict.fromkeys(item.place for item in own))}"
        tables.append(ResultTable("", title, ("quantity", "paper", "ours", "agrees", "note"), rows))
    return [*tables[:-1], replace(tables[-1], notes=(verdict(comparisons),))]


def verdict(comparisons: Sequence[Comparison]) -> str:
    """Say how many agree."""
    judged = [item for item in comparisons if item.agrees is not None]
    return (
        f"{sum(bool(item.agrees) for item in judged)} of {len(judged)} numbers and choices agree; "
        f"{len(comparisons) - len(judged)} more have none in the paper. The notes say why the others differ."
    )


def all_comparisons() -> tuple[Comparison, ...]:
    """Return all counter-examples: Lopes, Brown, action entropy (Appendix A) and Regret-EIG (Appendix C)."""
    return (*lopes_comparisons(), *brown_comparisons(), *action_entropy_comparisons(), *regret_eig_comparisons())


def lopes_comparisons() -> tuple[Comparison, ...]:
    """Compare policy entropy's example: the best action is known in s1, and not in s0."""
    example, place = "policy entropy (Lopes)", "Appendix A"
    posterior = prior_of("lopes-two-state")
    rows = score(posterior, "policy_entropy", buckets=None)
    buckets = score(posterior, "policy_entropy")
    printed = score(posterior, "pac_eig", **PRINTED)
    bits = "In bits, over distinct rows of the expert's policy."
    return (
        compared(
            example, "entropy in s0 (bits)", place, 0.860, float(rows.values[0] / BITS), bits, tolerance=PRINTED_DIGITS
        ),
        compared(
            example, "entropy in s1 (bits)", place, 1.000, float(rows.values[1] / BITS), bits, tolerance=PRINTED_DIGITS
        ),
        compared(example, "asks in", place, "s1", state_name(rows), "Where the best action is known."),
        compared(
            example,
            "asks in, main text",
            "Related work",
            "s0",
            state_name(rows),
            'The text says "the latter" for the former: the state whose best action is known.',
        ),
        compared(
            example,
            "entropy in s1 with 10 buckets (bits)",
            "Experiment details",
            None,
            float(buckets.values[1] / BITS),
            "The form of the paper's experiments does not see the difference between rewards of 5 and 7, and asks in "
            f"{state_name(buckets)}.",
        ),
        compared(example, "PAC-EIG asks in", place, "s0", state_name(printed)),
        compared(example, "PAC-EIG in s1 (nats)", place, 0.0, float(printed.values[1])),
        compared(
            example,
            "our PAC-EIG asks in",
            place,
            "s0",
            state_name(score(posterior, "pac_eig")),
            "Default: local, edges (1/2, 1), occupancy weights.",
        ),
    )


def action_entropy_comparisons(seed: int = 0) -> tuple[Comparison, ...]:
    """Compare action entropy's examples: the jail, and terminal states where they may be queried."""
    example, place = "action entropy (Kweon)", "Appendix A"
    world = make_world("jail", seed)
    rows = []
    for kind, length in (("state", None), ("trajectory", world.max_length)):
        asked, posterior = jail_questions(world, kind, length)
        words = "annotations" if kind == "state" else "trajectories"
        told = float(score(posterior, "reward_eig", kind=kind, length=length).values[asked[-1]])
        at_jail = sum(_kind(world, state) == "jail" for state in asked)
        rows += [
            compared(
                example,
                f"of the first {NUM_QUESTIONS} questions at the jail, {words}",
                place,
                float(NUM_QUESTIONS),
                float(at_jail),
                f"jail, seed {seed}; each question was answered.",
            ),
            compared(example, f"what the next answer there tells, {words} (nats)", place, 0.0, told, "Reward-EIG."),
        ]
    return (*rows, *_terminal_comparisons(example, place))


def jail_questions(world: World, kind: str, length: int | None) -> tuple[list[int], Posterior]:
    """Return the states that action entropy asks about first, and the belief after the answers."""
    asked: list[int] = []
    posterior = infer(world.problem, (), "enumerate", num_points=NUM_NET_POINTS)
    for _ in range(NUM_QUESTIONS):
        asked.append(score(posterior, "action_entropy", kind=kind, length=length).best_state())
        questions = questions_at(asked, kind=kind, length=length)
        answers = tuple(map(world.make_expert(0).demonstrate, questions))
        posterior = infer(world.problem, answers, "enumerate", num_points=NUM_NET_POINTS)
    return asked, posterior


def _kind(world: World, state: int) -> str:
    grid = world.problem.mdp.grid
    return "" if grid is None or grid.kinds is None else grid.kinds[state]


def _terminal_comparisons(example: str, place: str) -> tuple[Comparison, ...]:
    rows = []
    for name in ("random-8x8", "random-10x10"):
        problem = make_world(name).problem
        opened = replace(problem, queryable=np.ones(problem.mdp.num_states, dtype=bool))
        posterior = infer(opened, (), "smc", num_particles=NUM_PRIOR_DRAWS)
        scores = score(posterior, "action_entropy")
        asked = "a terminal state" if problem.mdp.terminal[scores.best_state()] else "another state"
        rows.append(
            compared(
                example,
                f"asks in, terminal states queryable, {name}",
                place,
                "a terminal state",
                asked,
                f"All actions are alike there: {scores.values.max():.4f} nats, which is log 5.",
            )
        )
    return tuple(rows)


def regret_eig_comparisons() -> tuple[Comparison, ...]:
    """Compare the trap: a0 gives 0, a1 and a2 give 50 and -100 in unknown order."""
    example, place = "Regret-EIG", "Appendix C"
    posterior = prior_of("regret-eig-trap")
    policy, likeliest = expected_return(posterior), most_likely_optimal(posterior)
    regret = regrets(posterior, policy)
    means = np.broadcast_to(posterior.mean_reward(), (1, 3))[0]
    other = score(posterior, "regret_eig", policy=likeliest)
    return (
        compared(example, "the apprentice chooses", place, "a0", f"a{policy[0]}"),
        compared(example, "expected return of a1, and of a2", place, -25.0, float(means[1:].max())),
        compared(example, "least regret", place, 50.0, float(regret.min())),
        compared(example, "largest regret", place, 50.0, float(regret.max())),
        compared(example, "Regret-EIG (nats)", place, 0.0, float(score(posterior, "regret_eig").values[0])),
        compared(
            example,
            "Regret-EIG of the apprentice that is most likely optimal (nats)",
            place,
            None,
            float(other.values[0]),
            "The trap needs the apprentice of largest expected return. For this one, which PAC-EIG reasons about, "
            "regret is 0 or 150, and an answer tells which: log 2.",
        ),
        compared(
            example,
            "immediate-regret EIG (nats)",
            place,
            None,
            float(score(posterior, "ir_eig").values[0]),
            "The paper says that it sees the difference, without a number. It does: log 2.",
        ),
        compared(
            example,
            "PAC-EIG (nats)",
            place,
            None,
            float(score(posterior, "pac_eig", **PRINTED).values[0]),
            "The printed form sees it too.",
        ),
    )
