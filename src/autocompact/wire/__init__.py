"""Provider JSON to core and back, lossless."""
