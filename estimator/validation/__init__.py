"""The judge: public measurements made by others, the protocol by which a model is held against them, and what
simple methods attain on the same rows.
"""
