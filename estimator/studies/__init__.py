"""Many runs of the pipeline, one question."""
