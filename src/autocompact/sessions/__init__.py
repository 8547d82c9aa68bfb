"""Recorded sessions of the common agents, read into the core's messages and written back."""
