"""Models behind an OpenAI-compatible chat-completions endpoint."""

from agent.models.openai_compatible.model import OpenAICompatibleModel, from_resolved, read_reply

__all__ = ["OpenAICompatibleModel", "from_resolved", "read_reply"]
