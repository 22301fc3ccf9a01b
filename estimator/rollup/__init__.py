"""PREDICTION → the figures that people quote: step, epoch, run, units per day, figure of merit."""
