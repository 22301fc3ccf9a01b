"""The benchmark: it times kernels on this machine, in numpy, PyTorch, TensorFlow or JAX.

Its modules import only each other, the standard library, and when they run numpy and the timed library.
``estimator.collect.measure.program`` joins them to one file of plain Python 3.9, ``measure.py``, which runs here and at
a vendor's.
"""
