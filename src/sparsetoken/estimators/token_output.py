"""What transformers of tokens return: bags for bags, and the table that set_output asks for."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from jaxtyping import Float
from sklearn import get_config

from sparsetoken.base.validation import choice
from sparsetoken.estimators.inputs import Reading

Table = Literal["default", "pandas", "polars"]


class TokenOutput:
    """A transformer whose output is `Bags`, or a table if the input was one."""

    def set_output(self, *, transform: Table | None = None) -> Self:
        """Say what a table comes out as; bags come out as `Bags` whatever is said.

        Parameters
        ----------
        transform : str, optional
            ``default`` for an array, ``pandas`` or ``polars``; None leaves it as it is.
        """
        if transform is not None:
            # The name under which scikit-learn's clone keeps it.
            kept = choice("transform", transform, get_args(Table))
            self._sklearn_output_config = {"transform": kept}
        return self

    def _returned(self, reading: Reading, X: Any, tokens: Float[np.ndarray, "N k"]) -> Any:
        """Return what was made of the tokens of X in the form that is asked for."""
        if not reading.rows:
            return reading.bags.with_tokens(tokens)
        own = getattr(self, "_sklearn_output_config", {})
        table = own.get("transform", get_config()["transform_output"])
        if table == "default":
            return tokens
        names = list(self.get_feature_names_out())  # type: ignore[attr-defined]
        if table == "polars":
            import polars as pl

            return pl.DataFrame(tokens, schema=names, orient="row")
        import pandas as pd

        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(tokens, columns=names, index=index)
