"""Data: the paper's five benchmark problems, and tables read from files."""

from marginwise.datasets.benchmarks import Benchmark, benchmark_names, load_benchmark
from marginwise.datasets.inputs import Inputs, load_inputs
from marginwise.datasets.table import Table, load_table
from marginwise.tables import Schema

__all__ = [
    "Benchmark",
    "Inputs",
    "Schema",
    "Table",
    "benchmark_names",
    "load_benchmark",
    "load_inputs",
    "load_table",
]
