"""Models that answer requests for summaries: over HTTP, or without any model."""
