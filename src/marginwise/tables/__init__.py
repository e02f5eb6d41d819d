"""Tables as users have them: numbers, words, dates and gaps in columns, read into a matrix of numbers."""

from marginwise.tables.column import Column
from marginwise.tables.schema import Schema

__all__ = ["Column", "Schema"]
