"""The benchmark: it times kernels on the machine at hand, in numpy, PyTorch, TensorFlow or JAX.

Its modules import each other, the standard library and (when they run) numpy and the library that is timed, nothing
else: ``estimator.collect.measure.program`` joins them to one file of plain Python 3.9, ``measure.py``, which is what
runs, here and at a vendor's.
"""
