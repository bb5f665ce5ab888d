"""Models behind an OpenAI-compatible chat-completions endpoint.

Above: `agent.session`. Below: `request` makes the body, `endpoint` carries the bytes,
`assembler` reads them, `faults` says what a failure means.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

import httpx

from agent.errors import ModelBroken, ModelError, ModelFiltered
from agent.model import ModelRequest, Reply, TextDelta
from agent.models.openai_compatible.body import ReplyReader
from agent.models.openai_compatible.dsml import DsmlText
from agent.models.openai_compatible.endpoint import ChatEndpoint, Failed, Patience, UsageRefused
from agent.models.openai_compatible.faults import Fault, backoff, cut_fault, reported_fault
from agent.models.openai_compatible.request import RequestEncoder
from agent.providers import Provider, ResolvedModel

_TRIES = 3
_EMPTY_TRIES = 2


def read_reply(chunks: Iterable[bytes]) -> Reply:
    """Read the raw body of one answer, cut anywhere, as the live client does; a failure in it is told in `error`."""
    reader = ReplyReader()
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


def from_resolved(resolved: ResolvedModel) -> "OpenAICompatibleModel":
    """The model that `agent.providers.resolve` found."""
    return OpenAICompatibleModel(
        name=resolved.name,
        base_url=resolved.base_url,
        api_key=resolved.api_key,
        model=resolved.facts.name,
        provider=resolved.provider,
    )


class OpenAICompatibleModel:
    """One model of one endpoint. Connections are kept between calls; `aclose` ends them.

    A `client` that is passed in is used as it is, and stays the caller's to close.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str,
        model: str,
        provider: Provider,
        client: httpx.AsyncClient | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._name = name
        self._model = model
        self._provider = provider
        self._patience = patience or Patience()
        self._endpoint = ChatEndpoint(base_url=base_url, api_key=api_key, client=client, patience=self._patience)
        self._encoder = RequestEncoder(model=model, provider=provider, name=name)
        self._ask_usage = provider.stream_options

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
        at most. Cancelling or closing the iteration closes the connection.

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
            except UsageRefused as refused:
                if not self._ask_usage:
                    raise self._told(refused.fault) from refused.__cause__
                self._ask_usage, tries = False, 0
                continue
            except Failed as failed:
                fault = failed.fault
                most = _EMPTY_TRIES if isinstance(failed, _Empty) else _TRIES
                if shown or not fault.passing or tries >= most:
                    raise self._told(fault) from failed.__cause__
            await self._patience.pause(backoff(tries, wait=fault.wait, random=self._patience.random()))

    async def _try(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        body = self._encoder.encode(request, usage=self._ask_usage)
        reader = ReplyReader()
        held = DsmlText(request) if self._provider.text_calls else None
        length = 0
        async with aclosing(self._endpoint.answer(body, reader, model=self._model)) as pieces:
            async for piece in pieces:
                text = reader.feed(piece)
                if held:
                    text = held.feed(text)
                if text:
                    length += len(text)
                    yield TextDelta(text=text)
                if reader.failure:
                    break
        reply = self._checked(reader)
        if held:
            reply = held.read(reply)
        if rest := reply.text[length:]:
            yield TextDelta(text=rest)
        yield reply

    def _checked(self, reader: ReplyReader) -> Reply:
        """The reply, if it is one."""
        reply = reader.finish()
        if reader.failure:
            raise Failed(reported_fault(reader.failure, base_url=self._endpoint.base_url, model=self._model))
        if not reply.complete:
            raise Failed(cut_fault(reader.head))
        if reply.text.strip():
            return reply
        if reply.finish_reason == "content_filter":
            raise Failed(
                Fault(error=ModelFiltered("the vendor's content filter ended the answer before its first word"))
            )
        if not (reply.tool_calls or reply.finish_reason == "length"):
            raise _Empty(Fault(error=ModelBroken("the model answered nothing"), passing=True))
        return reply

    def _told(self, fault: Fault) -> ModelError:
        """The error for the caller: with the model's name, without the key."""
        return type(fault.error)(self._endpoint.masked(f"{self._name}: {fault.error.detail}"))


class _Empty(Failed):
    """The answer was whole and said nothing."""
