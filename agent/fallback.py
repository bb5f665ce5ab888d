"""Two models as one: the second answers where the first is overloaded or cannot be reached.

Above: whoever made the two. Below: any two of `agent/models/`; each gets its own records of reasoning back and never
the other's, as every message tells whose it has (`agent.model.Message.model`).

    model = FallbackModel(load_model(first), load_model(second))
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from agent.errors import ModelError, ModelOverloaded, ModelUnreachable
from agent.model import Model, ModelRequest, Reply, TextDelta

COOL_DOWN_SECONDS = 300.0


class FallbackModel:
    """Asks `first`, and `second` if that fails before any text was shown; a reply tells which of them answered.

    After a failure of the first, the second is asked first for `seconds`, by `clock`. A busy endpoint stays busy for
    more than one call, and finding that out takes all the tries and waits that it is allowed, each time; and the
    second has by then kept the prompt of the task, for about as long as vendors keep one. If the second fails in that
    time, the first is asked again.
    """

    def __init__(
        self,
        first: Model,
        second: Model,
        *,
        seconds: float = COOL_DOWN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = first
        self._second = second
        self._seconds = seconds
        self._clock = clock
        self._cool_until: float | None = None

    @property
    def name(self) -> str:
        """That of the first, which is what was configured; a reply has that of the one that answered."""
        return self._first.name

    async def aclose(self) -> None:
        """Let the kept connections of both go."""
        try:
            await self._first.aclose()
        finally:
            await self._second.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        """Yield what the first of the two that can answer does.

        Raises:
            ModelError: that of the model that failed; where both did, that of the first, which tells of both.
        """
        asked, other = self._order()
        try:
            async with aclosing(_asked(asked, request)) as parts:
                async for part in parts:
                    yield part
            return
        except _Unanswered as unanswered:
            failure = unanswered.failure
        if asked is self._first:
            self._cool_until = self._clock() + self._seconds
        try:
            async with aclosing(_asked(other, request)) as parts:
                async for part in parts:
                    yield part
        except _Unanswered as unanswered:
            error = unanswered.failure
            first, second = (failure, error) if asked is self._first else (error, failure)
            # The first is the one that was meant to answer: what to do is about it.
            raise type(first)(f"{first.detail}; the fallback neither: {second.detail}") from error

    def _order(self) -> tuple[Model, Model]:
        if self._cool_until is not None and self._clock() < self._cool_until:
            return self._second, self._first
        return self._first, self._second


class _Unanswered(Exception):
    """A model failed in a way that another may not, and nobody saw anything of it."""

    def __init__(self, failure: ModelError) -> None:
        super().__init__(failure.detail)
        self.failure = failure


async def _asked(model: Model, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
    shown = False
    try:
        async with aclosing(model.stream(request)) as parts:
            async for part in parts:
                shown = True
                yield part if isinstance(part, TextDelta) else _signed(part, model)
    except (ModelOverloaded, ModelUnreachable) as error:
        if shown:
            raise
        raise _Unanswered(error) from error


def _signed(reply: Reply, model: Model) -> Reply:
    """The reply with the name of the one that made it."""
    return reply if reply.model else replace(reply, model=model.name)
