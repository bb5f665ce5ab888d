"""A model behind an HTTP endpoint: asked, asked again where that may help, and its answer checked.

Above: `agent.session`. Below: `endpoint` carries the bytes, `faults` says what a failure means. A family in
`agent/models/` adds how a request is written and how an answer is read.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.errors import ModelBroken, ModelError, ModelFiltered
from agent.http_model.endpoint import Endpoint
from agent.http_model.faults import cut_fault, reported_fault
from agent.http_model.patience import Empty, Failed, Fault, Patience, Refused, backoff
from agent.http_model.reader import AnswerReader
from agent.model import ModelRequest, Reply, TextDelta

_TRIES = 3
_EMPTY_TRIES = 2


class HttpModel(ABC):
    """One model of one endpoint, which knows it as `model`. Connections are kept between calls; `aclose` ends them."""

    def __init__(self, *, name: str, model: str, endpoint: Endpoint, patience: Patience) -> None:
        self._name = name
        self._model = model
        self._endpoint = endpoint
        self._patience = patience

    @property
    def name(self) -> str:
        """`provider:model`, as configured."""
        return self._name

    async def aclose(self) -> None:
        """End the connections that are kept."""
        await self._endpoint.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        """Yield text as it arrives and, last, exactly one complete `Reply`.

        A call is tried three times at most, and never again once text was yielded; an empty answer is asked for twice
        at most. What the endpoint refuses to take, though the request can do without it, is left out from then on.
        Cancelling or closing the iteration closes the connection.

        Raises:
            ModelError: a subclass that says what to do; its `detail` never holds the key.
        """
        tries = 0
        while True:
            shown = False
            tries += 1
            try:
                async with aclosing(self._try(request)) as parts:
                    async for part in parts:
                        shown = True
                        yield part
                return
            except Failed as failed:
                if isinstance(failed, Refused) and self.gives_in(failed.status, failed.said):
                    tries = 0
                    continue
                fault = failed.fault
                most = _EMPTY_TRIES if isinstance(failed, Empty) else _TRIES
                if shown or not fault.passing or tries >= most:
                    raise self._told(fault) from failed.__cause__
            await self._patience.pause(backoff(tries, wait=fault.wait, random=self._patience.random()))

    @abstractmethod
    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request, byte for byte."""

    @abstractmethod
    def new_reader(self, request: ModelRequest) -> AnswerReader:
        """What reads the answer to `request`."""

    @abstractmethod
    def gives_in(self, status: int, said: bytes) -> bool:
        """Whether, after this refusal, requests are made differently from now on, so that they may be taken."""

    def taken(self, reply: Reply, request: ModelRequest) -> Reply:
        """The whole reply to `request`, as it is handed on."""
        return reply

    async def _try(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        reader = self.new_reader(request)
        length, text = 0, ""
        async with aclosing(self._endpoint.answer(self.encode(request), reader, model=self._model)) as pieces:
            async for piece in pieces:
                text += reader.feed(piece)
                # Blanks alone show nothing: they wait, so that an answer of nothing else can be asked for again.
                if text and (length or text.strip()):
                    length += len(text)
                    yield TextDelta(text=text)
                    text = ""
                if reader.failure:
                    break
        reply = self._checked(reader)
        if rest := reply.text[length:]:
            yield TextDelta(text=rest)
        yield self.taken(reply, request)

    def _checked(self, reader: AnswerReader) -> Reply:
        """The reply, if it is one."""
        reply = reader.finish()
        if reader.failure:
            raise Failed(reported_fault(reader.failure, base_url=self._endpoint.base_url, model=self._model))
        if not reply.complete:
            raise Failed(cut_fault(reader.head))
        if reply.text.strip():
            return reply
        if reply.finish_reason == "content_filter":
            detail = "the answer was refused before its first word, by the model or the vendor's content filter"
            raise Failed(Fault(error=ModelFiltered(detail)))
        if not (reply.tool_calls or reply.finish_reason == "length"):
            raise Empty(Fault(error=ModelBroken("the model answered nothing"), passing=True))
        return reply

    def _told(self, fault: Fault) -> ModelError:
        """The error for the caller: with the model's name, without the key."""
        return type(fault.error)(self._endpoint.masked(f"{self._name}: {fault.error.detail}"))
