"""The catalogue's tables as data: cells → layout, columns → where → rows, which are chosen, sorted and compared."""
