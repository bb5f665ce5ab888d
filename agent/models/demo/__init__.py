"""The demo model: rules in place of a language model, behind the real streaming protocol over HTTP."""

from agent.models.demo.server import DemoServer

__all__ = ["DemoServer"]
