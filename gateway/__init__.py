"""PROCESS 1: talks to people. It knows chats, not models, and enters the worker by its doors only."""
