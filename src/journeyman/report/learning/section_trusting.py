"""Sections of a report on trust: the certificate with what it assumes, the sampler's diagnostics, the settings."""

from dataclasses import fields
from importlib.metadata import version
from typing import Any

from journeyman.apprentice import Certificate
from journeyman.apprentice.certificate_text import caution_sentences, claim_sentence, headline, number_sentences
from journeyman.apprentice.epsilon import epsilon_words, regret_words
from journeyman.criticism.check import ALARM, RIVALS_TITLE, number_words
from journeyman.report.drawing.marks import describe_initial
from journeyman.report.html import Markup, bullets, definitions, details, element, join, paragraph, picture, section
from journeyman.report.learning import figures
from journeyman.report.learning.sentences import verdict_sentences
from journeyman.report.learning.summary import LearningSummary
from journeyman.wording import bound_words, chance_words, nats, percent, plain_number

WORDS = {
    "seconds": "seconds for the last posterior",
    "num_gradients": "gradients computed",
    "ess_bulk": "effective samples, bulk (worst parameter)",
    "ess_tail": "effective samples, tails (worst parameter)",
    "r_hat": "largest R-hat (1 is best)",
    "num_divergences": "diverged draws",
    "particle_ess": "effective particles (by weights)",
    "acceptance": "moves accepted",
    "move_correlation": "correlation of successive moves",
    "distinct_ancestors": "distinct ancestors of the particles",
    "chain_length": "particles per ancestor",
    "num_rejuvenations": "times that particles were moved",
    "error_bound": "bound on the error",
    "is_converged": "converged",
}

EVIDENCE_CAPTION = (
    "How many times better than the model its rivals predict the answers so far. The line counts rivals at samples of "
    f"the posterior, the dot all rivals. From {ALARM:g} on (dashed) the model is doubtful: that happens to a model "
    "that is right in at most 4 % of all cases, and contradictions are found in at most 1 %. Crosses, if any: how much "
    "better all answers are predicted if the expert changed their mind there, not counting that the time is unknown."
)


def verdict_box(summary: LearningSummary) -> Markup:
    """Return the result in a box, coloured by it."""
    status = summary.verdict.status
    if summary.settings.goal == "reward":
        status = "holds" if summary.is_finished else "undecided"
        status = "doubtful" if summary.criticism.is_doubtful else status
    return element("div", *(paragraph(text) for text in verdict_sentences(summary)), class_=f"verdict {status}")


def tiles(summary: LearningSummary) -> Markup:
    """Return the numbers that people look for first; what is believed now is what the certificate says."""
    certificate = summary.verdict
    where = "the initial states" if certificate.scope == "initial" else "the worst state"
    event = f"a regret of {epsilon_words(certificate.epsilon)} or more"
    if certificate.scope != "initial":
        event = f"a choice that could add up to {event}"
    facts = [
        (str(summary.num_demonstrations), f"demonstrations, {summary.num_decisions:,} actions in all"),
        (
            chance_words(certificate.p_hat, certificate.delta),
            f"chance of {event}, at most {bound_words(certificate.upper_bound, certificate.delta)} "
            f"(limit {percent(certificate.delta, 3)})",
        ),
        (regret_words(certificate.mean_regret, certificate.epsilon), f"expected regret from {where}"),
        (
            f"{summary.identifiability.num_learned:.1f} of {len(summary.identifiability.spreads)}",
            "directions of the reward learned",
        ),
    ]
    return element(
        "div",
        *(element("div", element("b", value), element("span", label), class_="tile") for value, label in facts),
        class_="tiles",
    )


def certificate_section(summary: LearningSummary) -> Markup:
    """Return the certificate, the confirmed one if there is one, with all that it assumes."""
    parts = [certificate_markup(summary.verdict)]
    if summary.confirmation is not None:
        parts.insert(0, paragraph("From a fresh, longer computation with the same answers:"))
        parts.append(details("from the learner's own samples", certificate_markup(summary.certificate)))
    return section("certificate", "The certificate", *parts)


def certificate_markup(certificate: Certificate) -> Markup:
    """Return a certificate in the words that the command line uses too."""
    parts = [element("strong", headline(certificate)), paragraph(claim_sentence(certificate))]
    parts += [paragraph(sentence) for sentence in caution_sentences(certificate)]
    parts.append(bullets(number_sentences(certificate)))
    for title, items in (
        ("Why", certificate.reasons),
        ("What would help", certificate.advice),
        ("All of this assumes that", certificate.assumptions),
    ):
        if items:
            parts += [element("h3", title), bullets(items)]
    return join(*parts)


def model_section(summary: LearningSummary) -> Markup:
    """Return what speaks against the model of the expert: evidence over the answers, rivals, and what deviates most."""
    found = summary.criticism
    headline = "The model is doubtful." if found.is_doubtful else "Nothing speaks against the model."
    parts = [element("strong", headline), paragraph(f"{found.sentence[0].upper()}{found.sentence[1:]}")]
    if not found.is_full:
        parts.append(paragraph("Rivals that need inference were left out, since no certificate would hold."))
    for title, items in (("Why", found.reasons), ("What to try", found.advice)):
        if items:
            parts += [element("h3", title), bullets(items)]
    if found.num_answers:
        parts.append(
            picture(
                lambda: figures.FIGURES["evidence"].draw_fn(summary),
                alt=f"Evidence against the model over the answers; at the end {number_words(found.log_evidence)}.",
                caption=EVIDENCE_CAPTION,
            )
        )
        parts += [element("h3", RIVALS_TITLE), bullets(found.rival_lines())]
        parts += [element("h3", "What deviates most from what the posterior predicts")]
        parts.append(bullets([str(item) for item in found.deviations]))
    return section("model", "Is the model right?", *parts)


def diagnostics_section(summary: LearningSummary) -> Markup:
    """Return how good the samples are, what is doubtful, and the settings."""
    warnings = [paragraph(f"Warning: {warning}", class_="warning") for warning in summary.warnings]
    posterior, settings = summary.posterior, summary.settings
    facts: list[tuple[str, object]] = [("method", posterior.method), ("samples", posterior.num_samples)]
    for field in fields(posterior.diagnostics):
        value = getattr(posterior.diagnostics, field.name)
        if value is not None and field.name in WORDS:
            facts.append((WORDS[field.name], _plain(value)))
    if posterior.log_evidence is not None:
        facts.append(("log evidence of the answers", nats(posterior.log_evidence, posterior.log_evidence_error)))
    facts.append(("seconds for all answers", f"{summary.seconds:.2f}"))
    changed = [(name, _plain(value)) for name, value in settings.to_record().items() if value not in (None, {}, [])]
    return section(
        "diagnostics",
        "Diagnostics and settings",
        *(warnings or [paragraph("No warnings: the sampler found nothing doubtful about these samples.")]),
        definitions(facts),
        details("the problem", definitions(problem_facts(summary))),
        details("settings of the learner", definitions(changed)),
    )


def problem_facts(summary: LearningSummary) -> list[tuple[str, object]]:
    """Return what was known before any answer."""
    problem = summary.problem
    mdp = problem.mdp
    return [
        ("states and actions", f"{mdp.num_states} x {mdp.num_actions}, {int(mdp.terminal.sum())} terminal"),
        ("discount", plain_number(mdp.discount)),
        ("initial", describe_initial(mdp)),
        ("reward", f"{problem.reward_model.kind.replace('_', ' ')}, {problem.reward_model.num_parameters} parameters"),
        ("prior of each parameter", problem.prior.describe()),
        ("expert", problem.expert.assumption()),
        *(
            (one.name, f"{one.mean:.3g} after the answers, with a chance of 95 % between {low:.3g} and {high:.3g}")
            for one in summary.expert
            for low, high in [one.interval]
        ),
        ("may be asked about", f"{int(problem.queryable.sum())} states"),
    ]


def footer() -> Markup:
    """Return what made the page, and what its words mean."""
    glossary = definitions(
        [
            ("regret", "what a policy loses of the expected discounted reward, compared with the best policy"),
            ("certificate", "the statement that a regret of epsilon or more has a chance of at most delta"),
            ("nats", "unit of information; one yes-or-no question answered is 0.69 nats"),
            ("beta", "how rational the expert is: the higher, the fewer mistakes"),
            ("prior, posterior", "what is believed about the reward before and after the answers"),
        ]
    )
    return element(
        "footer", details("What the words mean", glossary), paragraph(f"Made by journeyman {version('journeyman')}.")
    )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain_number(value) if isinstance(value, float) else str(value)
