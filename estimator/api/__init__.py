"""What Python programs and the command line call: verbs that take names or loaded things, and results that show
themselves as tables, figures and HTML.
"""
