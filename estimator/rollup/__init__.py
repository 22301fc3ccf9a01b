"""PREDICTION → what people quote: step, epoch, run, units per day, figure of merit."""
