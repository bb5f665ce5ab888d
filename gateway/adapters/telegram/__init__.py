"""Telegram: private chats with a bot, by long polling."""

from gateway.adapters.telegram.adapter import CAPABILITIES, TelegramAdapter

__all__ = ["CAPABILITIES", "TelegramAdapter"]
