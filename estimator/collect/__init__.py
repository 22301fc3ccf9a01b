"""What runs other programs: ``capture`` profiles a training run; ``measure`` times kernels on a machine, by the program
of ``bench``.
"""
