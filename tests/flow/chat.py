"""What tests of a chat look for."""

from tests.servers.telegram import Shown, TelegramServer

ANN = 42
BOB = 43
GREETING = 'def main() -> None:\n    print("Hello PaiCLI")\n\n\nif __name__ == "__main__":\n    main()\n'
EDIT = ("write_file", {"path": "hello.py", "content": GREETING})


def card(telegram: TelegramServer, user: int = ANN, *, after: int = 0) -> Shown:
    """The open card of a chat that is newer than message `after`, waited for."""
    return telegram.wait_for(
        lambda server: next((m for m in server.messages(user) if m.buttons and m.message_id > after), None), 15
    )


def said(telegram: TelegramServer, part: str, user: int = ANN) -> Shown:
    """The message that holds `part`, waited for."""
    return telegram.wait_for(lambda server: next((m for m in server.messages(user) if part in m.text), None), 15)


def shown(telegram: TelegramServer, message_id: int, user: int = ANN) -> Shown:
    """A message as it is now."""
    return next(message for message in telegram.messages(user) if message.message_id == message_id)
