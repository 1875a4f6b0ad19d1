"""PAC-EIG, read carefully: how its variants differ from Reward-EIG, and where each asks.

Prints the table of docs/pac-eig.md; docs/gallery/make.py draws the score maps of the 10x10 world side by side.
"""

from _measure import console, show

# isort: split
import numpy as np

from journeyman.acquisition import score
from journeyman.inference import infer
from journeyman.report import state_map
from journeyman.report.drawing.cells import new_figure
from journeyman.report.drawing.palette import VERMILLION
from journeyman.worlds import make_world

VARIANTS = {
    "joint, (0, 1): as printed": {"components": "joint", "edges": (0, 1), "occupancy": False},
    "joint, (1/2, 1), occupancy": {"components": "joint"},
    "local, (0, 1): as proved": {"edges": (0, 1), "occupancy": False},
    "local, (1/2, 1)": {"occupancy": False},
    "local, (1/2, 1), occupancy: default": {},
}


def posterior_after(name, num_demonstrations):
    """The posterior of instance 0 after answers at random states."""
    world = make_world(name, 0)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_demonstrations)
    return infer(world.problem, world.expert.answers(states), "smc", num_particles=500)


def maps():
    """Draw the maps of Reward-EIG and some variants on the 10x10 world after 20 answers."""
    posterior = posterior_after("random-10x10", 20)
    mdp = posterior.problem.mdp
    found = {"reward_eig": score(posterior, "reward_eig").values}
    for label in list(VARIANTS)[::2]:
        found[f"pac_eig {label}"] = score(posterior, "pac_eig", **VARIANTS[label]).values
    figure = new_figure(10.5, 9.6, layout="compressed")
    for ax, (label, values) in zip(figure.subplots(2, 2).flat, found.items(), strict=True):
        state_map(ax, mdp, np.where(np.isfinite(values), values, np.nan), label="nats", is_diverging=False)
        for text in ax.texts:
            text.set_visible(False)
        row, column = mdp.grid.places[int(np.argmax(values))]
        ax.plot(column, row, "*", color=VERMILLION, markeredgecolor="white", markersize=15, zorder=6)
        ax.set_title(label)
    return figure


def main() -> None:
    """Print the table."""
    rows = []
    for name in ("jail", "random-8x8", "random-10x10"):
        for num_demonstrations in (0, 20, 50):
            posterior = posterior_after(name, num_demonstrations)
            reward = score(posterior, "reward_eig")
            asked = np.isfinite(reward.values)
            distinct = len(np.unique(posterior.theta, axis=0))
            row = [name, num_demonstrations, distinct, reward.best_state()]
            for variant in VARIANTS.values():
                scores = score(posterior, "pac_eig", **variant)
                correlation = np.corrcoef(scores.values[asked], reward.values[asked])[0, 1]
                row.append(f"{scores.details['num_configurations']}, {correlation:.3f}, {scores.best_state()}")
            rows.append(row)
    columns = ["world", "answers", "distinct samples", "reward_eig asks", *VARIANTS]
    show("Configurations, correlation with reward_eig, state asked", columns, rows)
    for row in [columns, ["---"] * len(columns), *rows]:
        console.print("| " + " | ".join(map(str, row)) + " |", soft_wrap=True)


if __name__ == "__main__":
    main()
