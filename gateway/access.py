"""Who is served. An empty list is nobody; who may decide an approval is checked where it is decided."""

from collections.abc import Mapping

from worker.messages import Sender


class Access:
    """Allow lists by platform. The web chat admits whoever holds its link, which its adapter has checked."""

    def __init__(self, allowed: Mapping[str, frozenset[str]]) -> None:
        self._allowed = allowed

    def may_talk(self, sender: Sender) -> bool:
        """Whether this person is served at all."""
        return sender.user_id in self._allowed.get(sender.platform, frozenset())
