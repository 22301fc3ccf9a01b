"""What one call of each op takes on a device, from specifications: a model per family of kernels."""
