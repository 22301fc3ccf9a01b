"""What ``estimator devices`` and ``estimator systems`` print: a table, one in full, several side by side, a check."""
