"""Output for people: ``render/<command>.py`` has ``render_<command>``, which prints the document."""
