"""What the docs take from the code and from the shipped files, each subject as Markdown; extension.py is for Sphinx."""
