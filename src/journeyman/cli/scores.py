"""`journeyman scores`: where an acquisition function would ask next."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.infer import ask_at_random

if TYPE_CHECKING:
    from journeyman.learner import ActiveLearner
    from journeyman.worlds import World

ASKERS = ("random", "best")


def scores(
    name: opt.WorldName,
    acquisition: Annotated[str, typer.Option(metavar="NAME", help="Acquisition function.")] = "pac_eig",
    demonstrations: Annotated[int, typer.Option(metavar="N", help="How many demonstrations to simulate first.")] = 20,
    seed: Annotated[
        int, typer.Option(help="Seed of the world, of what is asked and answered, and of the sampling.")
    ] = 0,
    ask: Annotated[
        str, typer.Option(metavar="HOW", help="random: at random states; best: where the function would ask.")
    ] = "random",
    kind: opt.Kind = "state",
    length: opt.Length = None,
    step_cost: opt.StepCost = 0.0,
    candidates: opt.Candidates = None,
    epsilon: opt.Epsilon = "0.1",
    inference: opt.Inference = "smc",
    inference_set: opt.InferenceOptions = None,
    world_set: opt.WorldOptions = None,
    acquisition_set: opt.AcquisitionOptions = None,
    png: opt.Picture = None,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Map how much every state is worth asking about next, after some simulated demonstrations.

    The expert of a world answers at random states (or, with --ask best, where the acquisition function itself would
    ask). Then every state gets a score, and the best one would be asked next.

    Examples: [bold]journeyman scores random-10x10 --acquisition pac_eig --demonstrations 20 --seed 3 --png
    scores.png[/] maps the information about the apprentice's mistakes. [bold]journeyman scores jail --acquisition
    reward_eig --kind trajectory --length 8[/] rates whole trajectories. [bold]journeyman scores random-8x8
    --acquisition-set components=joint --acquisition-set edges=0,1 --acquisition-set occupancy=false[/] is the formula
    as printed in the paper. Functions: random, action_entropy, policy_entropy, active_var, reward_eig, pac_eig,
    regret_eig, ir_eig, expected_regret, optimal_action_value, regret_pac, failure_chance, and those that
    plugins bring.
    """
    from journeyman.acquisition import score
    from journeyman.acquisition.registry import check_acquisition_options
    from journeyman.checks import one_of
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.inference import INFERENCE, infer
    from journeyman.report.scores import ScoreMap, print_scores, score_figure, score_record
    from journeyman.worlds import make_world

    chosen, sampling = opt.parse_scoring_options(acquisition_set), opt.parse_settings(inference_set)
    check_acquisition_options(acquisition, chosen)
    INFERENCE.find(inference).check_options(sampling, f"inference {inference!r}")
    opt.check_picture(png)
    one_of(ask, ASKERS, "ask", "Leave it out for 'random'.")
    world = make_world(name, seed, **opt.parse_options(name, world_set))
    steps = opt.trajectory_length(world, kind, length)
    compile_at_first_use()
    rating: dict[str, Any] = {
        "kind": kind, "length": steps, "step_cost": step_cost, "epsilon": epsilon, "seed": seed, "num_threads": threads,
        "candidates": opt.parse_candidates(candidates, world.problem),
    }  # fmt: skip
    if ask == "best":
        learner = ask_where_best(world, demonstrations, acquisition, chosen, inference, sampling, rating)
        answers, posterior = learner.demonstrations, learner.posterior()
    else:
        answers, is_shown = ask_at_random(world, demonstrations, seed, kind=kind, length=length), sys.stderr.isatty()
        posterior = infer(
            world.problem, answers, inference, seed=seed, num_threads=threads, progress=is_shown, **sampling
        )
    asked_by = acquisition if ask == "best" else "chance"
    rated = score(posterior, acquisition, **rating, **chosen)
    found = ScoreMap.of_world(world, answers, posterior, rated, asked_by)
    opt.show(as_json, lambda: score_record(found), lambda console: print_scores(console, found))
    opt.save_picture(lambda: score_figure(found), png, as_json)


def ask_where_best(
    world: "World",
    count: int,
    acquisition: str,
    acquisition_options: dict[str, Any],
    inference: str,
    inference_options: dict[str, Any],
    rating: dict[str, Any],
) -> "ActiveLearner":
    """Return a learner that was told `count` answers at states that the function itself chose."""
    from journeyman.checks import whole_number
    from journeyman.learner import ActiveLearner, answered_steps

    whole_number(count, "the number of demonstrations", 0, "0 shows the prior.")
    learner = ActiveLearner(
        world.problem,
        acquisition=acquisition,
        acquisition_options=acquisition_options,
        inference=inference,
        inference_options=inference_options,
        **rating,
    )
    for _ in answered_steps(learner, world.expert, steps=count):
        pass
    return learner
