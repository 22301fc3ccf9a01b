"""Validation: public measurements, the protocol that tests a model on them, and simple methods on the same rows."""
