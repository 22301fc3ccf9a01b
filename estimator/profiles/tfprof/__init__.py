"""TensorFlow's traces of session steps: RunMetadata, its timeline, and what tfprof makes of it."""
