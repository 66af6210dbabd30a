"""Rows of an experiment with one number changed, to see its claims fail."""

import dataclasses


def changed(rows, kind, column, values, **wanted):
    """Change one column of the rows of a class."""
    return [
        dataclasses.replace(row, **{column: dataclasses.replace(getattr(row, column), **values)})
        if isinstance(row, kind) and all(getattr(row, k) == v for k, v in wanted.items())
        else row
        for row in rows
    ]
