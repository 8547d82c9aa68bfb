"""Stores of conversations: in memory, in a SQLite file, in a PostgreSQL database."""
