"""A coding-agent session as a library: the loop, its tools, its models and its sandbox.

It knows neither queues nor chats. Ports are singular files (`model.py`, `tool.py`, `sandbox.py`); the plugins that
implement them live in the plural folders beside them.
"""
