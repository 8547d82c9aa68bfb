"""The chat in a terminal: what is typed (`keyboard`), what is shown (`screen`, `words`), and the two in turn (`dialogue`)."""
