"""Models behind an OpenAI-compatible chat-completions endpoint.

Above: `agent.session`. Below: `request` makes the body, `body` and `assembler` read the answer; all between is
`agent.http_model`.
"""

from collections.abc import Iterable

import httpx

from agent.http_model.asking import HttpModel
from agent.http_model.endpoint import Endpoint
from agent.http_model.patience import Patience
from agent.http_model.reader import AnswerReader, read_all
from agent.model import ModelRequest, Reply
from agent.models.openai_compatible.body import ReplyReader
from agent.models.openai_compatible.dsml import DsmlReader
from agent.models.openai_compatible.request import RequestEncoder
from agent.providers import Provider, ResolvedModel


def read_reply(chunks: Iterable[bytes]) -> Reply:
    """Read the raw body of one answer, cut anywhere, as the live client does; a failure in it is told in `error`."""
    return read_all(ReplyReader(), chunks)


def from_resolved(resolved: ResolvedModel) -> "OpenAICompatibleModel":
    """The model that `agent.providers.resolve` found."""
    return OpenAICompatibleModel(
        name=resolved.name,
        base_url=resolved.base_url,
        api_key=resolved.api_key,
        model=resolved.facts.name,
        provider=resolved.provider,
    )


class OpenAICompatibleModel(HttpModel):
    """One model of one endpoint; an endpoint that refuses to be asked for usage is asked without from then on.

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
        patience = patience or Patience()
        key = api_key.strip()
        endpoint = Endpoint(
            base_url=base_url,
            path="/chat/completions",
            api_key=key,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            client=client,
            patience=patience,
        )
        super().__init__(name=name, model=model, endpoint=endpoint, patience=patience)
        self._encoder = RequestEncoder(model=model, provider=provider, name=name)
        self._ask_usage = provider.stream_options
        self._text_calls = provider.text_calls

    def encode(self, request: ModelRequest) -> bytes:
        """The body of the request."""
        return self._encoder.encode(request, usage=self._ask_usage)

    def new_reader(self, request: ModelRequest) -> AnswerReader:
        """What reads the answer, with calls in its text where such models write them."""
        return DsmlReader(request) if self._text_calls else ReplyReader()

    def gives_in(self, status: int, said: bytes) -> bool:
        """Leave out the wish for usage, if that was refused: an endpoint may know no `stream_options`."""
        refused = status in {400, 422} and (b"stream_options" in said or b"include_usage" in said)
        if not (refused and self._ask_usage):
            return False
        self._ask_usage = False
        return True
