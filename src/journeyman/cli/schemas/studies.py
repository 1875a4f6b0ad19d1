"""What the commands of `journeyman study` print with `--json`."""

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
from journeyman.cli.schemas.models import SCORES
from journeyman.cli.schemas.shared import ANSWER_ID, CERTIFICATE, EPSILON, INTERVAL, OVERVIEW, POLICY, SHARED, WARNINGS

AFTERWARDS = ref("overview", "What is in the study afterwards.")
BELIEF = record(
    "What is believed; null with --quick",
    certificate=CERTIFICATE["status"],
    epsilon=EPSILON,
    delta=number("Acceptable chance of such a regret"),
    failure_chance=number("Estimated chance that the regret is epsilon or more"),
    upper_bound=number("Upper bound of that chance"),
    expected_regret=number("Posterior mean of the regret, measured as epsilon is"),
    cautions=CERTIFICATE["cautions"],
    reward=maybe(
        record(
            "How well the reward is known; null if the goal is a policy",
            is_known=truth("Whether it is known well enough"),
            widest_interval=number("Width of the widest credible interval of a parameter"),
            level=number("Posterior chance of that interval"),
            information=number("What the best next answer would tell, in nats"),
        )
    ),
    model=record(
        "What speaks against the model",
        is_doubtful=truth("Whether it is doubtful"),
        is_full=truth("Whether rivals that need inference took part"),
        log_evidence_against=number("Log of the evidence against it"),
        reasons=many(text("One"), "Why it is doubtful"),
        advice=many(text("One"), "What to try"),
    ),
    log_evidence=maybe(number("Log evidence of the answers, in nats")),
    log_evidence_error=maybe(number("Its Monte-Carlo standard error")),
    warnings=WARNINGS,
)

REPORT = record(
    "The numbers of the report.",
    name=text("Title"),
    is_finished=maybe(truth("Whether the goal is reached")),
    verdict=many(text("A sentence"), "The verdict in words"),
    num_demonstrations=whole("Demonstrations that count"),
    num_decisions=whole("Actions in them"),
    num_attached=whole("Those demonstrations that were attached"),
    num_undone=whole("Answers that were taken back"),
    certificate=ref("certificate", "Of the policy"),
    confirmation=maybe(
        ref("certificate", "Of the same policy on a fresh, longer posterior; null where none was needed")
    ),
    criticism=ref("criticism", "Of the model of the expert"),
    asked=many(
        record(
            "One, as in query, and what came of it",
            **SHARED["query"]["properties"],
            status=word("What came of it", "waiting", "done", "failed", "abandoned"),
            why=text("Why it was asked"),
            answer=maybe(ref("demonstration", "The answer that counts")),
        ),
        "All questions",
    ),
    course=many(
        record(
            "One",
            num_demonstrations=whole("Demonstrations by then"),
            failure_chance=maybe(number("Estimated chance that the regret is epsilon or more")),
            expected_regret=maybe(number("Posterior mean of the regret")),
            entropy=maybe(number("Of the posterior, in nats")),
            true_regret=maybe(number("Known in simulations only")),
        ),
        "How it went, step by step",
    ),
    forecast=maybe(ref("forecast", "Asked for with --forecast")),
    apprentice=POLICY,
    certainty=many(
        record(
            "One",
            state=whole("Its number"),
            name=text("Its label or number"),
            action=whole("What the policy does"),
            action_name=text("Its label or number"),
            chance=number("That this is optimal"),
            rival=whole("The other action that is most likely optimal"),
            rival_chance=number("That the other one is optimal"),
        ),
        "How sure the policy is, in states where there is a choice",
    ),
    parameters=many(
        record(
            "One",
            name=text("Its name"),
            mean=number("Posterior mean"),
            std=number("Posterior standard deviation"),
            interval=INTERVAL,
            prior_std=maybe(number("Prior standard deviation")),
            remaining=maybe(number("Posterior over prior standard deviation")),
            share=maybe(number("Mean in units of what is at stake")),
            share_interval=many(maybe(number("One end")), "Interval in units of what is at stake", size=2),
        ),
        "Parameters of the reward",
    ),
    expert=many(
        record(
            "One",
            name=text("Its name"),
            mean=number("Posterior mean"),
            std=number("Posterior standard deviation"),
            interval=INTERVAL,
            prior_interval=many(maybe(number("One end")), "The same before any answer", size=2),
        ),
        "Unknown parameters of the expert",
    ),
    rewards=many(
        record(
            "One",
            state=whole("Its number"),
            name=text("Its label or number"),
            action=maybe(whole("Its number; null where rewards depend on the state only")),
            mean=number("Posterior mean"),
            std=number("Posterior standard deviation"),
            interval=INTERVAL,
        ),
        "Rewards by state, or by state and action",
    ),
    level=number("Posterior chance of all intervals"),
    num_directions_learned=maybe(number("Directions of the reward that were learned, in effect")),
    num_directions=whole("Directions of the reward"),
    num_invisible_directions=maybe(whole("Directions about which no answer can tell anything; null: not known")),
    limits=many(text("A sentence"), "What cannot be known, and why"),
    hardly_learned=many(
        record(
            "One",
            name=text("Its name"),
            remaining=maybe(number("Posterior over prior standard deviation")),
            why=text("Why it is still open"),
        ),
        "Parameters that are nearly as unsure as before",
    ),
    unseen_states=many(whole("Its number"), "States without any answer"),
    settings=ref("settings", "How the learner asks, infers and stops"),
    warnings=WARNINGS,
)

IMPOSSIBLE = record(
    "One",
    place=text("Where it stands, in words"),
    line=whole("Line or entry of the file"),
    subject=maybe(text("Who; null: not said")),
    state=text("Where it starts, by label or number"),
    action=maybe(text("What was done")),
    next_state=maybe(text("Where it led")),
    reason=text("What is wrong"),
)
SUBJECT_COUNTS: dict[str, Schema] = dict(
    demonstrations=whole("Demonstrations as the file has them"),
    pieces=whole("As they are after splitting"),
    steps=whole("Actions in them"),
    states=whole("Different states that were visited"),
    gaps=whole("Places where steps are known to be left out"),
    missing=whole("Rows without a state or an action"),
    impossible=whole("Steps that the dynamics cannot make"),
    duplicates=whole("Pieces that are already there"),
)

STUDIES: dict[str, Schema] = {
    "study new": record("The new study.", file=text("Where it is"), **OVERVIEW),
    "study ask": many(ref("query", "A question"), "The questions that wait; with --new those that were chosen now."),
    "study tell": record(
        "The answer as it is kept.",
        query=whole("Number of the question"),
        demonstration=ref("demonstration", "The answer"),
        num_demonstrations=whole("Demonstrations that count now"),
        next=maybe(ref("query", "The question that waits next; null if none does")),
    ),
    "study correct": record(
        "The answer as it is kept now.",
        answer=ANSWER_ID,
        before=maybe(ref("demonstration", "The answer that counted before; null if none did")),
        demonstration=ref("demonstration", "The answer that counts now"),
    ),
    "study attach": record(
        "The demonstration as it is kept.",
        answer=text("Its id, for undo"),
        demonstration=ref("demonstration", "What was attached"),
    ),
    "study fail": AFTERWARDS,
    "study abandon": AFTERWARDS,
    "study undo": AFTERWARDS,
    "study status": record("What is in the study, and what is believed.", **OVERVIEW, belief=maybe(BELIEF)),
    "study certify": record(
        "A certificate, that of the confirmation where there was one.",
        is_confirmed=truth("Whether it holds, also on a fresh, longer posterior"),
        is_confirmed_if_model_is_right=truth("The same, whatever speaks against the model"),
        **CERTIFICATE,
    ),
    "study doubts": ref("criticism", "What speaks against the model of the expert."),
    "study forecast": record(
        "How many more answers it may take.",
        **SHARED["forecast"]["properties"],
        is_model_doubtful=truth("Whether the model, which this assumes to be right, is doubtful"),
    ),
    "study report": REPORT,
    "study scores": record("How much every question is worth now.", study=text("Name of the study"), **SCORES),
    "study plot": either(
        "What was drawn, or with --list what can be.",
        record(
            "What was drawn",
            files=many(text("A path"), "Figures that were written"),
            empty=many(text("Its name"), "Figures for which there is nothing to draw yet"),
        ),
        mapping(text("What it shows"), "With --list: figures by name"),
    ),
    "study import": record(
        "What was found, and attached.",
        ("skipped", "num_new", "refusal"),
        answers=many(ANSWER_ID, "Ids of what was attached, for undo; none with --dry-run"),
        skipped=many(whole("Its number"), "Demonstrations of the file that were already there (--skip-duplicates)"),
        num_new=whole("Demonstrations that would be attached (--dry-run)"),
        refusal=maybe(text("Why it would be refused (--dry-run); null if it would not")),
        report=record(
            "What was found in the file",
            source=text("Its name"),
            num_rows=whole("Its rows"),
            separator=maybe(text("Between the columns of a text: comma, semicolon or tab")),
            columns=mapping(text("Name of the column"), "Which column was taken for what"),
            ignored=many(text("Name of the column"), "Columns that mean nothing here"),
            subjects=many(
                record("One", subject=maybe(text("Who; null: not said")), **SUBJECT_COUNTS), "Counts of each subject"
            ),
            total=record("Counts of all together", **SUBJECT_COUNTS),
            impossible=many(IMPOSSIBLE, "Steps that the dynamics cannot make, the first of them"),
            num_impossible=whole("How many there are"),
            first_rows=many(mapping(anything("As it was understood"), "By column"), "The first rows, by label"),
            num_moved=whole("Rows that were put in order, since they happened later than the next"),
        ),
    ),
    "study recover": record(
        "What could be read.",
        num_events=whole("Events that were copied"),
        num_attached=whole("Answers after the damage that were attached"),
        losses=many(text("One"), "What is lost"),
    ),
    "study set": record(
        "Settings that were changed.",
        changes=mapping(anything("Its new value"), "By setting: its new value; null is the default"),
        before=mapping(anything("Its old value"), "By setting: its old value; null is the default"),
    ),
    "study clone": record("The new study.", file=text("Where it is"), **OVERVIEW),
    "study sheet": record(
        "The sheet that was written.",
        file=text("Where it is"),
        queries=many(ref("query", "A question"), "The questions on it"),
    ),
    "study merge": record(
        "What became of the answers from elsewhere.",
        is_dry_run=truth("Whether nothing was changed, only looked at"),
        num_events=whole("Changes to the study"),
        counts=record(
            "Answers by what became of them",
            told=whole("Answered here now"),
            taken_over=whole("Asked only there, copied with the answer"),
            attached=whole("Attached"),
            corrected=whole("Corrected there, and so here"),
            taken_back=whole("Taken back there, and so here"),
            duplicate=whole("Already there, skipped"),
            kept=whole("Changed here since, left as it is"),
            conflict=whole("Answered differently"),
        ),
        items=many(
            record(
                "One",
                kind=text("What became of it: a key of counts"),
                answer=maybe(ANSWER_ID),
                source=text("File that it comes from"),
                ours=maybe(ref("demonstration", "The answer that was here before; null if there was none")),
                theirs=maybe(ref("demonstration", "The answer from there; null if it was taken back")),
                resolved=maybe(word("Which counts, of a conflict; null if nobody has said", "ours", "theirs")),
            ),
            "Answers that were looked at",
        ),
    ),
}

ROW_ORIGIN: dict[str, Schema] = dict(
    method=text("Method of inference"),
    num_samples=whole("Samples of the posterior"),
    num_demonstrations=whole("Demonstrations behind it"),
    warnings=WARNINGS,
)
SUMMARY: dict[str, Schema] = dict(
    mean=number("Posterior mean"),
    sd=number("Posterior standard deviation"),
    median=number("Posterior median"),
    low=number("Low end of the central credible interval"),
    high=number("High end of it"),
    level=number("Its posterior chance"),
)
STATE: dict[str, Schema] = dict(
    state=maybe(whole("Number of the state; null if it is not about one")),
    state_label=maybe(text("Its label; null if it has none")),
)
ACTION: dict[str, Schema] = dict(
    action=maybe(whole("Number of the action; null if it is not about one")),
    action_label=maybe(text("Its label; null if it has none")),
)
FILES: dict[str, Schema] = {
    "study export --what posterior": record(
        "What is known of each parameter.",
        format=word("Of this file", "journeyman-posterior-1"),
        **ROW_ORIGIN,
        rows=many(
            record(
                "One",
                kind=word("Whose it is", "reward", "expert"),
                parameter=text("Its name"),
                **STATE,
                **ACTION,
                annotator=maybe(text("Whose parameter it is, where annotators have their own")),
                **SUMMARY,
                ess=maybe(number("Independent samples that the mean is worth; null: exact")),
            ),
            "Parameters",
        ),
    ),
    "study export --what reward": record(
        "What is known of each reward.",
        format=word("Of this file", "journeyman-reward-1"),
        **ROW_ORIGIN,
        rows=many(record("One", tuple(ACTION), **STATE, **ACTION, **SUMMARY), "Rewards"),
    ),
    "study export --what predictive": record(
        "How likely the expert does each action.",
        format=word("Of this file", "journeyman-predictive-1"),
        **ROW_ORIGIN,
        rows=many(
            record(
                "One",
                ("annotator",),
                **STATE,
                **ACTION,
                annotator=maybe(text("Who acts, where annotators have parameters of their own; null: any of them")),
                count=whole("How often it was demonstrated"),
                **SUMMARY,
            ),
            "Actions",
        ),
    ),
    "study export --what policy": record(
        "The policy, with labels and its certificate in short.",
        format=word("Of this file", "journeyman-policy-1"),
        **ROW_ORIGIN,
        apprentice=text("How it was chosen"),
        policy=POLICY,
        states=many(text("Label or number"), "Names of the states"),
        actions=many(text("Label or number"), "Names of the actions"),
        chance_optimal=many(
            many(number("The chance"), "By action: that it is optimal"),
            "By state and action: chance that it is optimal; 0 if it does not exist",
        ),
        certificate=record(
            "In short", **{key: CERTIFICATE[key] for key in ("status", "epsilon", "delta", "upper_bound")}
        ),
    ),
    "study export --what history": record(
        "All steps.",
        format=word("Of this file", "journeyman-history-1"),
        steps=many(ref("step", "One"), "From the start on"),
    ),
    "study export --what certificate": ref("certificate", "The certificate."),
}
