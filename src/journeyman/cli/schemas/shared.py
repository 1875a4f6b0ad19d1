"""Records that several commands print, each described once."""

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

EPSILON = either("Regret that is too much", number("In units of the reward"), text('A share of what is at stake: "5%"'))
WARNINGS = many(text("One of them, with advice"), "What is doubtful about the samples")
ANSWER_ID = either("Id of an answer", whole("Number of the question"), text('"attached-0" and so on for attached data'))
POLICY = many(
    either("What to do there", whole("The action"), many(number("Its chance"), "The chance of each action")),
    "By state: what the policy does",
)
INTERVAL = many(number("One end"), "Low and high end of the central credible interval", size=2)

SETTINGS: dict[str, Schema] = dict(
    acquisition=text("Function that rates questions"),
    acquisition_options=mapping(anything("Its value"), "Options of it"),
    inference=text("Method of inference"),
    inference_options=mapping(anything("Its value"), "Options of it"),
    epsilon=EPSILON,
    delta=number("Acceptable chance of such a regret"),
    confidence=number("Of the upper bound of that chance"),
    scope=word("Where the guarantee holds", "initial", "every_state"),
    kind=word("What is asked for: one action, or several", "state", "trajectory"),
    length=maybe(whole("Maximum actions of an answer; null for one action")),
    goal=word("What is to be learned", "policy", "reward"),
    goal_options=mapping(anything("Its value"), "Options of it"),
    apprentice=text("How the policy is chosen"),
    num_histories=whole("Sampled trajectories per state, where scores are sampled"),
    max_samples=whole("Samples that a certificate may draw until it is decided"),
    confirmation_factor=whole("How many times as many samples the confirmation may draw"),
    costs=maybe(many(number("Its cost"), "By state: cost of asking; null: all alike")),
    step_cost=number("What each action of a trajectory after the first costs"),
    seed=whole("Of everything random"),
    candidates=either(
        "States that are rated when a question is chosen; left out: all, or in very large worlds the most visited",
        whole("This number, drawn at random"),
        text('The most visited: "occupancy:1000"'),
        many(whole("A state"), "These"),
    ),
)

OVERVIEW: dict[str, Schema] = dict(
    identity=text("What copies and clones of the study share"),
    created_at=text("When the study was made (ISO)"),
    created_by=text("By which version"),
    num_events=whole("All that happened so far: asks, answers, undos"),
    num_queries=whole("Questions asked"),
    num_done=whole("Questions answered"),
    num_failed=whole("Questions that got no answer"),
    num_abandoned=whole("Questions that cannot be answered"),
    num_demonstrations=whole("Demonstrations that count"),
    num_attached=whole("Those of them that were attached"),
    num_steps=whole("Actions in the demonstrations that count"),
    num_undone=whole("Answers that were taken back"),
    pending=many(ref("query", "A question"), "Questions that still wait"),
    settings=ref("settings", "How the learner asks, infers and stops"),
)

CERTIFICATE: dict[str, Schema] = dict(
    status=word(
        "doubtful: it would hold, but the model does not fit; undecided: the estimate is at most delta, its bound not; "
        "refused: the samples cannot support any claim",
        "holds", "doubtful", "undecided", "fails", "refused",
    ),
    holds=truth("Whether the policy is probably approximately correct"),
    epsilon=EPSILON,
    delta=number("Acceptable chance of such a regret"),
    confidence=number("Of the upper bound"),
    scope=word("Where the guarantee holds", "initial", "every_state"),
    p_hat=number("Estimated chance that the regret is epsilon or more"),
    upper_bound=number("Upper bound of that chance"),
    effective_size=maybe(number("Independent samples that it is worth; null if the posterior is exact")),
    effective_size_source=text("What limits it"),
    num_samples=whole("Samples it rests on"),
    num_looks=whole("How often it was looked whether they are enough"),
    ended_by=word(
        "What ended the drawing; empty where nothing was drawn",
        "", "decision", "futility", "doubt", "max_samples", "max_seconds", "exhaustion",
    ),
    max_seconds=maybe(number("How long it could draw; null: no limit")),
    numerical_error=number("Guaranteed error of every regret"),
    policy=POLICY,
    policy_source=text("How the policy was chosen; given: on other samples"),
    mean_regret=number("Posterior mean of the regret, measured as epsilon is"),
    regret_quantiles=many(
        record("One", level=number("Posterior chance"), regret=number("A regret of at most this much")),
        "Quantiles of the regret",
    ),
    top_states=many(
        record(
            "One",
            state=whole("Its number"),
            name=text("Its label or number"),
            regret=number("What it adds to the regret, on average"),
            chance=number("That its immediate regret is (1 - discount) epsilon or more"),
        ),
        "States where the regret comes from",
    ),
    sensitivity=many(
        record(
            "One",
            expert=text('Which: "beta = 2"'),
            chance=maybe(number("Estimated chance of failure; null: too few samples to tell")),
            effective_size=maybe(number("Samples that the estimate is worth; null if it is exact")),
        ),
        "The chance of failure if the expert were another",
    ),
    reasons=many(text("One"), "Why it does not hold, or not plainly"),
    advice=many(text("One"), "What would help"),
    assumptions=many(text("One"), "What all of it rests on"),
    cautions=many(text("One"), "What it does not promise even where it holds: it is about a grid, not the real world"),
    criticism=maybe(ref("criticism", "Of the model; null where it was not checked")),
)  # fmt: skip

SHARED: dict[str, Schema] = {
    "overview": record("What is in a study.", **OVERVIEW),
    "query": record(
        "A question to the expert.",
        id=whole("Number of the question; it never changes"),
        state=whole("Where the expert is to start"),
        kind=word("What is asked for: one action, or several", "state", "trajectory"),
        length=maybe(whole("Maximum actions of the answer; null for one action")),
        score=number("What the acquisition function expects of the answer"),
        text=text("The question for people"),
        visit=whole("How many questions were about that state before"),
    ),
    "demonstration": record(
        "What an expert did. What is not known is left out.",
        ("final_state", "query_id", "annotator", "timestamp"),
        start_state=whole("Where it began"),
        steps=many(many(whole("State, then action"), "One step", size=2), "What was done where, in order"),
        final_state=whole("State after the last action"),
        ended=word("How it ended", "annotation", "truncated", "terminated"),
        query_id=whole("Question that it answers"),
        annotator=text("Who did it"),
        timestamp=text("When (ISO)"),
    ),
    "settings": record("How a learner asks, infers and stops.", ("candidates",), **SETTINGS),
    "step": record(
        "A step of a learner: the start, an answer, or one taken back.",
        number=whole("Number of the event; -1 for the start"),
        name=text("What happened: start, or an event that changed what is believed, such as tell, attach or undo"),
        answers=many(ANSWER_ID, "Answers that it is about"),
        query=maybe(ref("query", "That was answered; null for attached data")),
        scores=maybe(
            record(
                "Of the ask that led here",
                ("unit",),
                best=number("Best score"),
                median=maybe(number("Median over states; null where several were chosen together")),
                num_queries=whole("Questions that were chosen together"),
                unit=text("Of the scores"),
            )
        ),
        num_demonstrations=whole("Behind the posterior after this step"),
        entropy=maybe(number("Of the posterior, in nats")),
        entropy_method=maybe(text("How it was estimated")),
        failure_chance=maybe(number("Estimated chance that the regret is epsilon or more")),
        expected_regret=maybe(number("Posterior mean of the regret")),
        posterior_seconds=number("That the posterior took"),
        acquisition_seconds=maybe(number("That choosing the question took")),
        warnings=WARNINGS,
    ),
    "certificate": record("What may be said about a policy, and how sure that is.", **CERTIFICATE),
    "criticism": record(
        "What speaks against the model of the expert.",
        is_doubtful=truth("Whether the model is doubtful"),
        is_full=truth("Whether rivals that need inference took part"),
        is_ordered=truth("Whether the order of the answers is known"),
        num_answers=whole("Actions that were looked at"),
        log_evidence=maybe(number("Log of the evidence against the model")),
        alarm=number("From which log evidence on the model is doubtful"),
        rivals=many(
            record(
                "One",
                kind=text("Of which kind: rationality, lapse, habit, change, prior"),
                words=text('What it is, after "an expert"'),
                log_gain=maybe(number("Log of how many times better than the model it predicts the answers")),
                log_share=number("Log of its part in the evidence"),
            ),
            "Other experts, the largest part of the evidence first",
        ),
        change_point=maybe(whole("Answers before a change of mind, where that is the best rival")),
        changes=many(
            record(
                "One",
                num_answers=whole("Answers before it"),
                log_gain=maybe(number("Log gain of an expert who changed their mind there")),
            ),
            "Change points that were looked at",
        ),
        contradictions=many(
            record(
                "One",
                state=whole("Its number"),
                name=text("Its label or number"),
                counts=mapping(whole("How often"), "Answers by the name of the action"),
                chance=number("Of such answers, before any answer"),
            ),
            "Answers that do not go together",
        ),
        deviations=many(
            record(
                "One",
                state=whole("Its number"),
                action=whole("Its number"),
                state_name=text("Its label or number"),
                action_name=text("Its label or number"),
                observed=whole("How often the action was given"),
                expected=number("How often it was to be expected"),
                num_answers=whole("Answers in that state"),
                z=maybe(number("Standardised deviation")),
                chance=number("Of such a deviation somewhere, allowing for all that was looked at"),
            ),
            "What deviates most from what the posterior predicts",
        ),
        curve=record(
            "The evidence as answers came in",
            num_answers=many(whole("How many"), "After how many answers"),
            log_evidence=many(maybe(number("Log evidence")), "The log evidence then; null: infinite"),
        ),
        reasons=many(text("One"), "Why the model is doubtful"),
        advice=many(text("One"), "What to try"),
    ),
    "forecast": record(
        "How many more answers simulated runs needed.",
        runs=many(maybe(whole("How many; null: the limit was not enough")), "Answers of each run"),
        limit=whole("Answers after which a run was stopped"),
        quantiles=mapping(
            maybe(whole("Answers enough for this share of the runs; null: more than the limit")), "By share: 0.1 to 0.9"
        ),
        share_unfinished=number("Share of the runs that were ended by the limit"),
    ),
}
