"""Claude models behind Anthropic's Messages API, or behind an endpoint that speaks it.

Above: `agent.session`. Below: `request` makes the body, `endpoint` carries the bytes, `reader` reads them, `faults`
says what a failure means.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

import httpx

from agent.errors import ModelBroken, ModelError, ModelFiltered
from agent.model import ModelRequest, Reply, TextDelta
from agent.models.anthropic.endpoint import Endpoint, Failed, Patience, ThinkingRefused
from agent.models.anthropic.faults import Fault, backoff, cut_fault, reported_fault
from agent.models.anthropic.reader import MessageReader
from agent.models.anthropic.request import encode_request, is_extended
from agent.providers import ResolvedModel

_TRIES = 3
_EMPTY_TRIES = 2
_VERSION = {"anthropic-version": "2023-06-01"}


def read_message(chunks: Iterable[bytes]) -> Reply:
    """Read the raw body of one answer, cut anywhere, as the live client does; a failure in it is told in `error`."""
    reader = MessageReader()
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


def from_resolved(resolved: ResolvedModel) -> "AnthropicModel":
    """The model that `agent.providers.resolve` found."""
    return AnthropicModel(resolved)


class AnthropicModel:
    """One model of one endpoint. Connections are kept between calls; `aclose` ends them.

    A `client` that is passed in is used as it is, and stays the caller's to close.
    """

    def __init__(
        self, resolved: ResolvedModel, *, client: httpx.AsyncClient | None = None, patience: Patience | None = None
    ) -> None:
        self._resolved = resolved
        self._patience = patience or Patience()
        self._endpoint = Endpoint(
            base_url=resolved.base_url,
            api_key=resolved.api_key,
            headers=_VERSION,
            client=client,
            patience=self._patience,
        )
        self._echoes = resolved.provider.echoes(resolved.facts.name)

    @property
    def name(self) -> str:
        """`provider:model`, as configured."""
        return self._resolved.name

    async def aclose(self) -> None:
        """End the connections that are kept."""
        await self._endpoint.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        """Yield text as it arrives and, last, exactly one complete `Reply`.

        A call is tried three times at most, and never again once text was yielded; an empty answer is asked for twice
        at most. Cancelling or closing the iteration closes the connection. Thinking that the endpoint refuses to take
        back, as after the history was shortened, is left out from then on.

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
                if isinstance(failed, ThinkingRefused) and self._echoes:
                    self._echoes, tries = False, 0
                    continue
                fault = failed.fault
                most = _EMPTY_TRIES if isinstance(failed, _Empty) else _TRIES
                if shown or not fault.passing or tries >= most:
                    raise self._told(fault) from failed.__cause__
            await self._patience.pause(backoff(tries, wait=fault.wait, random=self._patience.random()))

    async def _try(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        model = self._resolved.facts.name
        body = encode_request(
            request,
            model=model,
            max_tokens=self._resolved.answer_tokens,
            fields=self._resolved.provider.fields_of(model),
            echo_of=self.name if self._echoes else None,
        )
        reader = MessageReader()
        length, text = 0, ""
        async with aclosing(self._endpoint.answer(body, reader, model=model)) as pieces:
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
        # A signature holds for what was before it, so that it is worth nothing once that is not sent again.
        kept = reply.blocks if self._echoes and is_extended(request) else ()
        yield replace(reply, model=self.name, blocks=kept)

    def _checked(self, reader: MessageReader) -> Reply:
        """The reply, if it is one."""
        reply = reader.finish()
        if reader.failure:
            raise Failed(
                reported_fault(reader.failure, base_url=self._endpoint.base_url, model=self._resolved.facts.name)
            )
        if not reply.complete:
            raise Failed(cut_fault(reader.head))
        if reply.text.strip():
            return reply
        if reply.finish_reason == "content_filter":
            raise Failed(Fault(error=ModelFiltered("the model refused to answer")))
        if not (reply.tool_calls or reply.finish_reason == "length"):
            raise _Empty(Fault(error=ModelBroken("the model answered nothing"), passing=True))
        return reply

    def _told(self, fault: Fault) -> ModelError:
        """The error for the caller: with the model's name, without the key."""
        return type(fault.error)(self._endpoint.masked(f"{self.name}: {fault.error.detail}"))


class _Empty(Failed):
    """The answer was whole and said nothing."""
