"""Models of the time of one call on a device, from specifications, one per family of kernels."""
