"""Claude models behind Anthropic's Messages API, or behind an endpoint that speaks it.

Above: `agent.session`. Below: `request` makes the body, `reader` reads the answer; all between is `agent.http_model`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

import httpx

from agent.http_model.asking import HttpModel
from agent.http_model.endpoint import Endpoint
from agent.http_model.patience import Patience
from agent.http_model.reader import AnswerReader, read_all
from agent.model import ModelRequest, Reply
from agent.models.anthropic.reader import MessageReader
from agent.models.anthropic.request import encode_request, is_extended
from agent.providers import ResolvedModel

_REFUSED_THINKING = re.compile(rb"signature|cannot be modified|bound to")


def read_message(chunks: Iterable[bytes]) -> Reply:
    """Read the raw body of one answer, cut anywhere, as the live client does; a failure in it is told in `error`."""
    return read_all(MessageReader(), chunks)


def from_resolved(resolved: ResolvedModel) -> "AnthropicModel":
    """The model that `agent.providers.resolve` found."""
    return AnthropicModel(resolved)


class AnthropicModel(HttpModel):
    """One model of one endpoint.

    Thinking that the endpoint refuses to take back, as after the history was shortened, is left out from then on. A
    `client` that is passed in is used as it is, and stays the caller's to close.
    """

    def __init__(
        self, resolved: ResolvedModel, *, client: httpx.AsyncClient | None = None, patience: Patience | None = None
    ) -> None:
        patience = patience or Patience()
        endpoint = Endpoint(
            base_url=resolved.base_url,
            path="/messages",
            api_key=resolved.api_key,
            headers=resolved.headers,
            client=client,
            patience=patience,
        )
        super().__init__(name=resolved.name, model=resolved.facts.name, endpoint=endpoint, patience=patience)
        self._fields = resolved.provider.fields_of(resolved.facts.name)
        self._max_tokens = resolved.answer_tokens
        self._echoes = resolved.provider.echoes(resolved.facts.name)

    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request."""
        return encode_request(
            request,
            model=self._model,
            max_tokens=self._max_tokens,
            fields=self._fields,
            echo_of=self._name if self._echoes else None,
        )

    def new_reader(self, request: ModelRequest) -> AnswerReader:
        """What reads the answer, whatever was asked."""
        return MessageReader()

    def gives_in(self, status: int, said: bytes) -> bool:
        """Leave out the thinking, if the request was refused for it.

        A signature holds for the model, and for newer models for the conversation before it, to the letter:
        https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.
        """
        refused = status == 400 and b"thinking" in said and _REFUSED_THINKING.search(said) is not None
        if not (refused and self._echoes):
            return False
        self._echoes = False
        return True

    def taken(self, reply: Reply, request: ModelRequest) -> Reply:
        """The reply, signed, and with records of thinking only where they can be sent back.

        A signature holds for what was before it, so that it is worth nothing once that is not sent again.
        """
        kept = reply.blocks if self._echoes and is_extended(request) else ()
        return replace(reply, model=self._name, blocks=kept)
