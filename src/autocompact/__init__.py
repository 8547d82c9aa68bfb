"""Automatic context compaction for LLM agents and chats."""
