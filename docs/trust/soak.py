"""Make the page of the long run of the studio (soak.md, soak.png) from soak.json, which `bench/soak.py` writes."""

import json
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# The studio under attack for half an hour

Made by `docs/trust/soak.py` from `soak.json`, which `make soak` (`bench/soak.py`) writes. People answer one study of
the 8x8 world in its default settings, each with a page that listens to live events, while others do all the harm that
can be done to a server from the loopback network. At the end the server is killed (kill -9) while answers are on their
way, and the file is opened.
"""
TAIL = """
*wrong* counts results that are not what they should be: a refusal of the kind that fits, or the end of the connection.
"closed" means that the server ended it without a response, "left" that the attacker did, "hung" that nothing came
within 30 seconds. A head has to arrive within 20 seconds, or the connection is ended; a body too, or there is a 408.
Wrong tokens are limited to one every two seconds (429), which does not delay people with the right one. A 503 asks for
the same request again; people sent it, and it was kept once.

*Memory* may grow, since a study holds its history in memory. The limits: a straight line through the last two thirds of
the time grows by less than 10 % over them, or by less than 4 kB for each answer in that time. Measured object by
object, an event that asks and one that answers take about 1.9 kB together, and the ledger 0.4 kB; we did not find what
else grows.

The answers counted are those of people who think for some seconds. Those acknowledged include answers on connections
that broke, and those at the end, when everybody answers without thinking until the server is killed.

Annotators, attackers, server and the process that computes share two cores with everything else that runs: the load of
the machine was {load:.1f} when the run began. So the times are upper limits for a machine of its own.
"""


def read_row():
    """Return what was found."""
    return json.loads((HERE / "soak.json").read_text("utf-8"))


def page(row):
    """Return the page."""
    attacks = sum(one["times"] for one in row["attacks"].values())
    limits = {True: "within the limits below", False: "**beyond the limits below**"}
    lines = [
        HEAD,
        f"{row['num_people']} annotators for {row['minutes']:g} minutes, who think for {row['think']:g} seconds: "
        f"{row['answers']:,} answers, and {attacks:,} attacks.",
        "",
        f"- **Answers lost: {row['lost']} of {row['acknowledged']:,}** that were acknowledged. "
        f"Questions answered twice: {row['twice']}.",
        "- Responses to people by status: "
        + ", ".join(f"{count:,} x {status}" for status, count in row["statuses"].items())
        + f". Tracebacks of the server: {row['tracebacks']}.",
        *(
            f"- Memory of the {name}: {one['first'] / 1e6:.0f} MB after a third of the time, "
            f"{one['last'] / 1e6:.0f} MB at the end; {100 * one['share']:+.1f} % along the line, "
            f"{one['bytes_per_answer'] / 1000:.1f} kB for each answer: {limits[one['is_flat']]}."
            for name, one in (("server", row["memory"]["server"]), ("process that computes", row["memory"]["worker"]))
        ),
        *(
            f"- {name.capitalize()} of the server: {one['before']} before, at most {one['most']}, {one['after']} after."
            for name, one in (("descriptors", row["descriptors"]), ("threads", row["threads"]))
        ),
        f"- An answer is acknowledged after {row['answering']['p50']:.2f} s (median), "
        f"{row['answering']['p95']:.2f} s (95 %), {row['answering']['p99']:.2f} s (99 %).",
        "",
        "| attack | times | results | wrong |",
        "|---|--:|---|--:|",
    ]
    for name, one in row["attacks"].items():
        results = ", ".join(f"{key} ({count:,})" for key, count in one["statuses"].items())
        lines.append(f"| {name} | {one['times']:,} | {results} | {one['wrong']} |")
    lines += ["", "![Memory of the server and of the process that computes, over time](soak.png)"]
    return "\n".join(lines) + "\n" + TAIL.format(load=row["load"])


def figure(row):
    """Draw memory over time."""
    from journeyman.report.drawing.cells import new_figure
    from journeyman.report.drawing.palette import BLUE, VERMILLION

    drawn = new_figure(6.4, 2.6)
    axes = drawn.subplots()
    minutes = [seconds / 60 for seconds in row["series"]["seconds"]]
    for name, key, look in (
        ("server", "server_mb", {"color": BLUE}),
        ("process that computes", "worker_mb", {"color": VERMILLION, "linestyle": "--"}),
    ):
        axes.plot(minutes, row["series"][key], label=name, **look)
    axes.set(xlabel="minutes", ylabel="memory (MB)", ylim=(0, None), xlim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


if __name__ == "__main__":
    from journeyman.report import save_figure

    found = read_row()
    (HERE / "soak.md").write_text(page(found), encoding="utf-8")
    save_figure(figure(found), HERE / "soak.png")
