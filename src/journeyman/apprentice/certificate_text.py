"""A certificate in words, for readers who know no statistics."""

import textwrap
from typing import TYPE_CHECKING

from journeyman.apprentice.epsilon import Share, epsilon_words, regret_words
from journeyman.apprentice.looks import ending_words
from journeyman.wording import about_chance, bound_words, percent

if TYPE_CHECKING:
    from journeyman.apprentice.certificate import Certificate

WIDTH = 100
HEADLINES = {
    "holds": "The certificate HOLDS.",
    "doubtful": "The certificate holds, but THE MODEL IS DOUBTFUL: the answers do not fit what it assumes.",
    "undecided": "The certificate does not hold yet: it may be true, but these samples cannot show it.",
    "fails": "The certificate does NOT hold.",
    "refused": "No certificate: the samples cannot support any claim.",
}


def certificate_text(certificate: "Certificate", width: int = WIDTH) -> str:
    """Return the certificate as lines of at most `width` characters."""
    lines = [headline(certificate), claim_sentence(certificate), *caution_sentences(certificate), ""]
    lines += number_sentences(certificate)
    for title, items in (
        ("Why", certificate.reasons),
        ("What would help", certificate.advice),
        ("All of this assumes that", certificate.assumptions),
    ):
        if items:
            lines += ["", f"{title}:", *(f"- {item}" for item in items)]
    return "\n".join(part for line in lines for part in _wrapped(line, width))


def headline(certificate: "Certificate") -> str:
    """Return whether the certificate holds, and whether it is about a grid alone."""
    words = HEADLINES[certificate.status]
    return words.replace("HOLDS.", "HOLDS, ON THE GRID ALONE.") if certificate.cautions else words


def caution_sentences(certificate: "Certificate") -> list[str]:
    """Return what a certificate that holds does not promise, a sentence each."""
    return [f"But {caution}." for caution in certificate.cautions] if certificate.holds_if_model_is_right else []


def claim_sentence(certificate: "Certificate") -> str:
    """Return what the certificate says, or would say if it held."""
    sure = percent(1.0 - certificate.delta, 3)
    start = "from the initial states" if certificate.scope == "initial" else "from every state it may start in"
    subject = "The policy loses" if certificate.holds else "It would say: the policy loses"
    if certificate.status == "doubtful":
        subject = "If the model were right, it would say: the policy loses"
    if isinstance(certificate.epsilon, Share):
        return (
            f"{subject} less than {epsilon_words(certificate.epsilon)} {start}, with a probability of at least {sure}. "
            "At stake is what the best policy gains over acting at random."
        )
    return (
        f"{subject} less than {certificate.epsilon:.4g} in expected return {start}, compared with the best policy, "
        f"with a probability of at least {sure}."
    )


def number_sentences(certificate: "Certificate") -> list[str]:
    """Return the numbers behind the claim, a sentence each."""
    c = certificate
    event = f"losing {epsilon_words(c.epsilon)} or more"
    if c.scope == "every_state":
        event = "a choice in some state that costs so much that this could add up"
    how = f"at {percent(c.confidence, 3)} confidence" if c.effective_size is not None else "computed exactly"
    lines = [
        f"Chance of {event}: {about_chance(c.p_hat, c.delta)}, and at most {bound_words(c.upper_bound, c.delta)} "
        f"({how}). The limit is {percent(c.delta, 3)}."
    ]
    if c.effective_size is not None:
        drawn = ending_words(c.ended_by, c.num_looks, c.max_seconds)
        lines.append(
            f"This rests on {c.num_samples} samples, worth {c.effective_size:.0f} independent ones "
            f"(limited by {c.effective_size_source}){drawn}."
        )
    where = "the initial states" if c.scope == "initial" else "the worst state"
    levels = {regret_words(value, c.epsilon): level for level, value in c.regret_quantiles}  # the last of those alike
    parts = ", ".join(f"{value} in {percent(level, 3)}" for value, level in levels.items())
    lines.append(
        f"Regret from {where}: {regret_words(c.mean_regret, c.epsilon)} on average; at most {parts} of the cases."
    )
    if c.top_states:
        what = "adds" if c.scope == "initial" else "has"
        names = ", ".join(f"{state.name} ({what} {regret_words(state.regret, c.epsilon)})" for state in c.top_states)
        lines.append(f"States that matter most: {names}.")
    for entry in c.sensitivity:
        says = "unknown, too few samples fit" if entry.chance is None else about_chance(entry.chance, c.delta)
        condition = (
            f"With {entry.expert}" if entry.expert.startswith("a prior") else f"If the expert had {entry.expert}"
        )
        lines.append(f"{condition}, the chance would be {says}.")
    if c.criticism is not None and c.holds:
        how = "" if c.criticism.is_full and c.criticism.is_ordered else " in part"
        lines.append(f"The model was checked{how}: {c.criticism.sentence}")
    if c.policy_source != "given":
        lines.append(
            f"The policy was chosen as {c.policy_source}"
            + (", on other samples than these." if c.effective_size is not None else ".")
        )
    return lines


def _wrapped(line: str, width: int) -> list[str]:
    indent = "  " if line.startswith("- ") else ""
    whole = line.replace(" %", "\N{NO-BREAK SPACE}%")  # a number keeps its percent sign
    return [
        part.replace("\N{NO-BREAK SPACE}%", " %") for part in textwrap.wrap(whole, width, subsequent_indent=indent)
    ] or [""]
