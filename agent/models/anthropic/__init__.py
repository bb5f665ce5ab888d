"""Claude models behind Anthropic's Messages API."""

from agent.models.anthropic.model import AnthropicModel, from_resolved, read_message

__all__ = ["AnthropicModel", "from_resolved", "read_message"]
