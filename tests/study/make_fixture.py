"""Write the study that later versions must still open: python tests/study/make_fixture.py, once per schema."""

from datetime import UTC, datetime
from pathlib import Path

from journeyman.demonstrations import Demonstration
from journeyman.study import Study
from journeyman.study.database import SCHEMA_VERSION
from journeyman.worlds import make_world


def main():
    path = Path(__file__).with_name("fixtures") / f"schema-{SCHEMA_VERSION}.study"
    problem = make_world("random-grid", 1, size=2, terminals="independent").problem
    with Study.create(path, problem, inference_options={"num_particles": 100}, seed=5) as study:
        first = study.ask()
        stamp = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
        study.tell(first, Demonstration(first.state, ((first.state, 2),), annotator="ada", timestamp=stamp))
        second = study.ask()
        study.tell(second, 3)
        study.attach(Demonstration.annotation(first.state, 1))
        study.undo(second)
        study.ask()


if __name__ == "__main__":
    main()
