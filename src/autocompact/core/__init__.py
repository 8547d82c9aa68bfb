"""Values and decisions: pure, synchronous, no I/O."""
