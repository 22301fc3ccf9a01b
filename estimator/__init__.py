"""Predict how fast a training workload would run on a machine nobody can touch yet; roll it up to a figure of merit."""

__version__ = "0.1.0"
