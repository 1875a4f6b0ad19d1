"""Problems as files: `problem.toml` for people, records of plain data and arrays for studies."""

from journeyman.problem_files.example import write_example, write_from_graph, write_from_map
from journeyman.problem_files.explanation import Explanation, explain
from journeyman.problem_files.loading import load_problem
from journeyman.problem_files.records import ProblemRecord, is_same_problem, problem_from_record, problem_to_record

__all__ = [
    "Explanation",
    "ProblemRecord",
    "explain",
    "is_same_problem",
    "load_problem",
    "problem_from_record",
    "problem_to_record",
    "write_example",
    "write_from_graph",
    "write_from_map",
]
