"""The web chat: a real platform of its own, on by default, with one page and one owner."""

from gateway.adapters.web.adapter import OWNER, WebAdapter

__all__ = ["OWNER", "WebAdapter"]
