"""The recipes, each of which reads like the method section of a paper: a step, its memory, many devices.

They alone know the order of the stages. Each is imported from its module: one step needs nothing of many devices.
"""
