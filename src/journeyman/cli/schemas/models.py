"""What commands about problems, worlds and models print with `--json`."""

from journeyman.cli.schemas.language import (
    Schema,
    anything,
    either,
    many,
    mapping,
    maybe,
    number,
    record,
    ref,
    text,
    truth,
    whole,
    word,
)
from journeyman.cli.schemas.shared import INTERVAL, SETTINGS, WARNINGS

EXPERT = mapping(anything("A number, or its prior"), "The model of the expert: beta, and lapse, values, annotators")


def by_state(what: str) -> Schema:
    """A number for each state, or for each state and action."""
    per_state = many(number("Of the state"), "By state")
    per_action = many(many(number("Of the action"), "By action"), "By state")
    return either(f"By state, or by state and action: {what}", per_state, per_action)


OPTIONS = mapping(anything("Its value"), "Options")
COVERAGE = many(
    record(
        "One",
        chance=number("Posterior chance of the interval"),
        share=number("Share of the replications in which it held the truth"),
        low=number("Low end of a 95 % interval of that share"),
        high=number("High end of it"),
    ),
    "How often credible intervals hold the truth",
)
EVIDENCE: dict[str, Schema] = dict(
    log_evidence=maybe(number("Log evidence, in nats; null where the method has none")),
    log_evidence_error=maybe(number("Its Monte-Carlo standard error")),
)

COMPARED_MODELS = record(
    "Models side by side",
    split=text("What is predicted from what"),
    method=text("Method of inference"),
    num_fitted=whole("Demonstrations to which the evidence refers"),
    num_predicted=whole("Demonstrations that were predicted"),
    num_free_decisions=whole("Decisions in these where several actions are available"),
    best=text("Model that predicts best"),
    best_by_evidence=maybe(text("Model with the largest evidence")),
    models=many(
        record(
            "One",
            name=text("Its name"),
            bits=maybe(number("Bits per free decision; larger (nearer 0) is better")),
            bits_error=maybe(number("Its standard error over demonstrations")),
            whole_bits=maybe(number("The same by whole demonstrations")),
            share=maybe(number("Of what a stationary policy can explain")),
            share_error=maybe(number("Its standard error")),
            behind=maybe(number("Bits per free decision behind the best model")),
            behind_error=maybe(number("Standard error of that difference")),
            **EVIDENCE,
            seconds=number("That its fits took"),
            is_reference=truth("Whether it is chance or an empirical policy"),
            expert=mapping(number("Posterior mean"), "Unknown parameters of the expert, by name"),
            warnings=WARNINGS,
            demonstration_bits=many(maybe(number("Bits")), "By predicted demonstration: its bits, not per decision"),
        ),
        "References and models",
    ),
    demonstrations=record(
        "Those that were predicted",
        number=many(whole("Its number"), "Numbers of the demonstrations"),
        free_decisions=many(whole("How many"), "Free decisions in each"),
    ),
)
COMPARED_PEOPLE = record(
    "Annotators side by side (--by annotator)",
    odd=many(text("Name"), "Those whose answers do not fit those of the others"),
    verdict=text("In words"),
    level=number("Chance to name anybody if all fit"),
    method=text("Method of inference"),
    annotators=many(
        record(
            "One",
            name=text("Who"),
            num_demonstrations=whole("Their demonstrations"),
            num_free_decisions=whole("Their decisions where several actions are available"),
            is_odd=truth("Whether their answers do not fit"),
            bits=number("Bits per free decision, by a fit to the others"),
            expected_bits=number("Mean of that over simulated annotators"),
            low=number("Low end of the central 95 % of these"),
            high=number("High end of it"),
            p_value=number("Chance of answers that fit as badly"),
            excess=number("Standard deviations by which they fit worse than simulated ones"),
            expert=mapping(
                record("One", mean=number("Posterior mean"), low=number("Low end of 95 %"), high=number("High end")),
                "Their own parameters, by name",
            ),
            **EVIDENCE,
            reward_mean=many(number("Mean"), "By parameter of the reward: posterior mean, fitted to them alone"),
            reward_std=many(number("Its sd"), "By parameter of the reward: standard deviation of the same"),
        ),
        "People",
    ),
    poolings=many(
        record("One", name=word("Which", "separate", "pooled", "partly pooled"), **EVIDENCE), "Ways to fit all of them"
    ),
    differences=many(
        many(number("In 0..1"), "By annotator"), "By annotator and annotator: how differently two of them act, in 0..1"
    ),
    warnings=WARNINGS,
)

RANGE: dict[str, Schema] = dict(low=number("5 % quantile"), middle=number("Median"), high=number("95 % quantile"))
VISITS = record(
    "One",
    name=text("Which states"),
    share=number("Part of its time that the apprentice is there, on average"),
    at_random=number("The same for one that acts at random"),
    sought=number("Part of the rewards under which the apprentice is there more than that"),
)

SCORES: dict[str, Schema] = dict(
    acquisition=text("Function that rates"),
    decided_by=text("Function that the scores are of in the end, where the first one falls back to another"),
    query=word("What would be asked for", "state", "trajectory"),
    length=maybe(whole("Maximum actions of an answer; null for one action")),
    lengths=maybe(many(whole("Actions"), "By state: the length worth most; null without a cost of steps")),
    unit=text("Of the scores"),
    inference=text("Method of inference"),
    num_samples=whole("Samples of the posterior"),
    num_demonstrations=whole("Demonstrations behind it"),
    asked=many(whole("State"), "Where questions were asked so far"),
    waiting=many(whole("State"), "Where questions still wait for an answer"),
    best_state=whole("Where to ask next"),
    best_state_name=text("Its label or number"),
    ranking=many(
        record("One", state=whole("Its number"), name=text("Its label or number"), score=maybe(number("Its score"))),
        "States that may be asked about, best first",
    ),
    scores=many(maybe(number("Its score")), "By state: its score; null if it may not be asked about"),
    standard_error=maybe(
        many(maybe(number("Of the score")), "By state: standard error of its score; null where nothing is sampled")
    ),
    details=mapping(anything("A number or a list"), "What else the function says"),
    warnings=WARNINGS,
)

MODELS: dict[str, Schema] = {
    "doctor": record(
        "What was looked at",
        is_well=truth("Whether nothing is bad"),
        findings=many(
            record(
                "One",
                part=text("versions, extras, threads, memory, caches, environment, kernels or study"),
                name=text("What was looked at"),
                state=word("How it is", "good", "notable", "bad"),
                words=text("How it is, in words"),
                advice=text("What to do; empty if nothing"),
            ),
            "One by one",
        ),
    ),
    "bound": record(
        "Bounds on the number of answers.",
        options=record(
            "What was asked about",
            states=whole("Number of states"),
            actions=whole("Number of actions"),
            beta=number("Rationality of the expert"),
            discount=number("Discount"),
            epsilon=number("Regret that is too much"),
            delta=number("Acceptable chance of that"),
            support=maybe(whole("States that the policy can visit")),
            horizon=maybe(whole("Maximum steps of an episode")),
            near_states=maybe(whole("States near the initial ones, for the heuristic")),
        ),
        h_max=number("Most that can be learned, in nats"),
        bounds=many(
            record(
                "One",
                name=text("Which bound"),
                explanation=text("What it counts"),
                is_valid=truth("Whether it is proved"),
                num_states=whole("States that it counts"),
                threshold=number("Immediate regret from which a state counts as not correct"),
                eig_min=maybe(number("Least that some answer tells, in nats; null: nothing is to be learned")),
                expected_steps=number("Expected number of answers at most"),
            ),
            "The published bound, and tighter ones",
        ),
    ),
    "check": record(
        "A problem in numbers.",
        num_states=whole("Number of states"),
        num_actions=whole("Number of actions"),
        discount=number("Discount"),
        num_transitions=whole("Transitions with a positive probability"),
        terminal_states=many(whole("Its number"), "Where episodes end"),
        initial_states=many(whole("Its number"), "Where episodes may start"),
        queryable_states=many(whole("Its number"), "States that may be asked about"),
        num_reachable=whole("States that can be reached from the initial ones"),
        unreachable_states=many(whole("Its number"), "States that cannot be reached from the initial ones"),
        unreachable_queryable=many(whole("Its number"), "States that may be asked about but cannot be reached"),
        has_grid=truth("Whether it is drawn as a grid"),
        memory=maybe(
            record(
                "What the expert remembers; null: nothing",
                name=text("What it is, in words"),
                states=many(text("One"), "What may be remembered"),
                num_world_states=whole("States of the world without the memory"),
                is_shared=truth("Whether rewards are the same whatever is remembered"),
            )
        ),
        reward_model=word("What is unknown", "per_state", "per_state_action", "features", "kernel"),
        num_parameters=whole("Number of unknown parameters of the reward"),
        parameters=many(text("Its name"), "These parameters"),
        beta=maybe(number("Rationality of the expert; null where it is not known, or not all there is")),
        expert=EXPERT,
        best_action_chance=maybe(number("How often the expert would choose a best action, on average over the prior")),
        best_action_range=maybe(many(number("One end"), "5 % and 95 % quantiles of that over the prior", size=2)),
        chance_at_random=maybe(number("How often one who chooses at random would")),
        halving_gap=maybe(number("How much less an action must be worth to be chosen half as often")),
        num_rewards=whole("Rewards drawn from the prior for this"),
        prior=record(
            "What the prior implies",
            parameters=many(
                record("One", name=text("Its name"), low=number("2.5 % quantile"), high=number("97.5 % quantile")),
                "Parameters under the prior",
            ),
            returns=record("Return of the best policy, over rewards drawn from the prior", **RANGE),
            at_stake=record("How much more that is than acting at random earns", **RANGE),
            epsilon=number("Regret that would be too much"),
            epsilon_is_share=truth("Whether it is a part of what is at stake, not in units of the reward"),
            epsilon_share=maybe(number("Epsilon as a part of what is typically at stake; null where nothing is")),
            random_is_enough=number("Share of the rewards under which acting at random loses less than epsilon"),
            visited=word("What visits are of", "terrain", "feature", "state"),
            visits=many(VISITS, "Where apprentices of rewards drawn from the prior go"),
        ),
        warnings=many(text("One, with advice"), "What is unusual"),
    ),
    "infer": record(
        "What answers tell about the reward of a world.",
        world=text("Its name"),
        seed=whole("Of the world, the answers and the sampling"),
        method=text("Method of inference"),
        num_samples=whole("Samples of the posterior"),
        demonstrations=many(ref("demonstration", "One"), "Answers of the simulated expert"),
        parameters=mapping(
            record(
                "One",
                mean=number("Posterior mean"),
                std=number("Posterior standard deviation"),
                interval=INTERVAL,
                truth=number("What it is in truth"),
                is_inside=truth("Whether the interval holds the truth"),
            ),
            "Parameters of the reward, by name",
        ),
        expert=mapping(
            record(
                "One",
                mean=number("Posterior mean"),
                low=number("Low end of the credible interval"),
                high=number("High end of it"),
                truth=number("What it is in truth"),
            ),
            "Unknown parameters of the expert, by name",
        ),
        mean_reward=by_state("posterior mean of the reward"),
        reward_std=by_state("its posterior standard deviation"),
        level=number("Posterior chance of the intervals"),
        coverage=number("Share of the intervals that hold the truth"),
        spread=number("Posterior over prior standard deviation, averaged over parameters"),
        policy_return=number("True return of the learned policy"),
        optimal_return=number("Return of an optimal policy"),
        expert_return=number("Return of the expert"),
        **EVIDENCE,
        diagnostics=mapping(anything("A number, a list or a truth value"), "What the method knows about its samples"),
        warnings=WARNINGS,
    ),
    "calibrate": record(
        "Whether a method is calibrated.",
        spec=record(
            "What was run",
            ("world", "world_options", "problem", "expert", "assumed_expert"),
            world=text("The world"),
            world_options=OPTIONS,
            problem=text("Id of the problem, where it is not a world"),
            method=text("Method of inference"),
            num_demonstrations=whole("Answers per replication"),
            kind=word("What is asked for", "state", "trajectory"),
            length=maybe(whole("Maximum actions of an answer; null for one action")),
            assumed_beta_factor=number("By which factor the method is told a wrong beta"),
            num_draws=whole("Posterior draws among which the truth is ranked"),
            seed=whole("Of the whole run"),
            method_options=OPTIONS,
            parameters=many(whole("Its number"), "Parameters that are ranked"),
            expert=mapping(anything("A part of it"), "Who answers, where it is not the problem's expert"),
            assumed_expert=mapping(anything("A part of it"), "Expert that the method assumes"),
        ),
        depends_on_truth=truth(
            "Whether the world's dynamics reveal something about the truth: then nothing can be calibrated"
        ),
        num_replications=whole("Replications that did not fail"),
        num_draws=whole("Posterior draws among which the truth is ranked"),
        is_calibrated=truth("Whether nothing speaks against it"),
        p_value=number("Of both tests, corrected for their number"),
        chi_square_p=number("Of the chi-square test of uniform ranks, corrected"),
        ecdf_p=number("Of the test of their distribution function, corrected"),
        num_failed=whole("Replications whose inference failed"),
        num_warned=whole("Replications with a warning"),
        num_short=whole("Replications worth fewer independent draws than are ranked"),
        mean_seconds=number("Of inference, per replication"),
        median_effective_draws=maybe(number("Of the replications; null with a Discrete prior")),
        worst=text("Quantity with the smallest p-value"),
        parameter_coverage=COVERAGE,
        quantities=many(
            record(
                "One",
                name=text("Its name"),
                chi_square_p=number("Of the chi-square test"),
                ecdf_p=number("Of the test of the distribution function"),
                mean_rank=number("Mean rank, as a share"),
                coverage=COVERAGE,
            ),
            "What was ranked",
        ),
    ),
    "compare": either("A comparison of models, or of annotators.", COMPARED_MODELS, COMPARED_PEOPLE),
    "scores": record(
        "How much every state is worth asking about.",
        world=text("Its name"),
        seed=whole("Of the world, the answers and the sampling"),
        asked_by=text("What chose the questions so far: chance, or an acquisition function"),
        **SCORES,
    ),
    "run": record(
        "What came of a simulated run.",
        out=text("Folder of the run"),
        spec=record(
            "What was run: settings of the learner, and",
            ("candidates",),
            world=maybe(text("The world; null for a problem file")),
            world_options=OPTIONS,
            problem=maybe(text("The problem file; null for a world")),
            batch=whole("Questions that are chosen together"),
            **SETTINGS,
        ),
        num_steps=whole("Answers"),
        is_finished=maybe(truth("Whether the goal is reached; null if nobody looked")),
        true_regret=number("Of the policy, which the learner does not know"),
        last_step=ref("step", "The last one"),
        certificate=ref("certificate", "Of the policy"),
    ),
    "worlds": many(
        record(
            "One",
            name=text("Its name"),
            summary=text("What it is"),
            num_states=whole("Number of states"),
            num_actions=whole("Number of actions"),
            discount=number("Discount"),
            num_parameters=whole("Number of unknown parameters of the reward"),
            reward_model=word("What is unknown", "per_state", "per_state_action", "features", "kernel"),
            prior=text("In words"),
            beta=maybe(number("Rationality of the expert; null where it is not all there is")),
            num_queryable=whole("States that may be asked about"),
            max_length=maybe(whole("Maximum steps of a trajectory")),
            has_grid=truth("Whether it is drawn as a grid"),
            options=mapping(anything("Default"), "Options of the world, with their defaults"),
        ),
        "All worlds.",
    ),
    "worlds show": record(
        "A world with its truth.",
        name=text("Its name"),
        seed=whole("Which instance"),
        num_states=whole("Number of states"),
        num_actions=whole("Number of actions"),
        action_names=many(text("Label or number"), "Names of the actions"),
        discount=number("Discount"),
        beta=maybe(number("Rationality of the expert; null where it is not all there is")),
        expert=EXPERT,
        prior=text("In words"),
        true_parameters=mapping(number("Its value"), "Parameters of the reward, by name"),
        initial=many(number("Chance"), "By state: chance that an episode starts there"),
        terminal=many(truth("Whether"), "By state: whether an episode ends there"),
        queryable=many(truth("Whether"), "By state: whether it may be asked about"),
        reward=by_state("the true reward"),
        values=many(number("Value"), "By state: optimal value"),
        q=many(
            many(maybe(number("Value")), "By action"), "By state and action: optimal value; null if it does not exist"
        ),
        optimal_actions=many(many(whole("Action"), "Those of a state"), "By state: actions that are optimal"),
        expert_policy=many(many(number("Chance"), "By action"), "By state and action: chance that the expert does it"),
        expert_optimal=many(
            maybe(number("Chance")),
            "By state: chance that the expert does an optimal action; null in terminal states",
        ),
        optimal_return=number("Return of an optimal policy"),
        expert_return=number("Return of the expert"),
        grid=maybe(
            record(
                "How it is drawn; null without a grid",
                num_rows=whole("Rows"),
                num_columns=whole("Columns"),
                cells=many(many(whole("Row, then column"), "Its place", size=2), "By state: its row and column"),
                kinds=maybe(many(text("Its kind"), "By state: kind of terrain")),
            )
        ),
    ),
}
