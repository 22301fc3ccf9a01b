"""The printed output of ``estimator devices`` and ``systems``: table, entry, comparison, check."""
