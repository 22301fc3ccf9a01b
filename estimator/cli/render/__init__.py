"""What commands print for people: ``render/<command>.py`` holds ``render_<command>``, a function of the document."""
