"""Two models as one, over real sockets: who is asked when, and what each of them is told."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

import pytest

from agent.errors import ModelBroken, ModelError, ModelOverloaded, ModelRefused, ModelUnauthorized, ModelUnreachable
from agent.fallback import FallbackModel
from agent.http_model.patience import Patience
from agent.model import Message, Model, ModelRequest, Reply, TextDelta
from agent.models.anthropic import AnthropicModel
from agent.models.openai_compatible import OpenAICompatibleModel
from agent.providers import PROVIDERS, resolve
from tests.servers import anthropic
from tests.servers.anthropic import MessagesServer
from tests.servers.model import Gate, ModelServer, Scripted, cut, held, status, text

ASK = ModelRequest(messages=(Message(role="user", text="Hello"),))
FIRST, SECOND = "compatible:first", "anthropic:second"

pytestmark = pytest.mark.requirement("model.fallback")


async def no_pause(_: float) -> None:
    return


@dataclass
class Clock:
    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


def first_at(url: str) -> Model:
    return OpenAICompatibleModel(
        name=FIRST, base_url=url, api_key="k1", model="first", provider=PROVIDERS["compatible"],
        patience=Patience(pause=no_pause),
    )  # fmt: skip


def second_at(url: str) -> Model:
    resolved = resolve(SECOND, base_url=url, api_key="k2")
    return AnthropicModel(resolved, patience=Patience(pause=no_pause))


async def collect(model: Model, request: ModelRequest = ASK) -> tuple[str, Reply]:
    async with contextlib.aclosing(model.stream(request)) as stream:
        *parts, reply = [part async for part in stream]
    assert isinstance(reply, Reply)
    return "".join(part.text for part in parts if isinstance(part, TextDelta)), reply


def both(one: list[Scripted], other: list[Scripted], main: Any, *, clock: Clock | None = None) -> None:
    """Run `main` with the two servers and the model over them."""

    async def go() -> None:
        with ModelServer(one) as first, MessagesServer(other) as second:
            pair = FallbackModel(first_at(first.base_url), second_at(second.base_url), clock=clock or Clock())
            try:
                await main(pair, first, second)
            finally:
                await pair.aclose()

    asyncio.run(asyncio.wait_for(go(), 20))


def test_while_the_first_answers_the_second_is_not_asked() -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        shown, reply = await collect(pair)
        assert (shown, reply.text, reply.model) == ("one", "one", FIRST)
        assert second.requests == []
        assert pair.name == FIRST

    both([text("one")], [], main)


@pytest.mark.parametrize("busy", [status(429), status(503), status(529)])
def test_when_the_first_is_overloaded_the_second_answers_and_the_reply_says_so(busy: Scripted) -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        shown, reply = await collect(pair)
        assert (shown, reply.text, reply.model) == ("two", "two", SECOND)
        assert (len(first.requests), len(second.requests)) == (3, 1)

    both([busy] * 3, [anthropic.text("two")], main)


def test_when_the_first_cannot_be_reached_the_second_answers() -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        gone = FallbackModel(first_at("http://127.0.0.1:1/v1"), second_at(second.base_url))
        assert (await collect(gone))[1].model == SECOND
        await gone.aclose()

    both([], [anthropic.text("two")], main)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [(status(401), ModelUnauthorized), (status(400), ModelRefused), (text(""), ModelBroken)],
)
def test_what_another_model_would_not_mend_is_told_as_it_is(reply: Scripted, kind: type[ModelError]) -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        with pytest.raises(kind):
            await collect(pair)
        assert second.requests == []

    both([reply] * 3, [], main)


def test_once_text_was_shown_the_second_is_not_asked() -> None:
    overloaded = text("Hello there")
    broken = Scripted((*overloaded.pieces[:3], b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'))

    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        with pytest.raises(ModelOverloaded):
            await collect(pair)
        with pytest.raises(ModelBroken):
            await collect(pair)
        assert second.requests == []

    both([broken, cut(overloaded, after=3)], [], main)


def test_the_second_is_stayed_with_for_five_minutes_and_then_the_first_is_asked_again() -> None:
    clock = Clock()

    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        assert (await collect(pair))[1].model == SECOND
        clock.seconds += 299
        assert (await collect(pair))[1].model == SECOND
        assert len(first.requests) == 3
        clock.seconds += 1
        assert (await collect(pair))[1].model == FIRST

    both([*[status(503)] * 3, text("one")], [anthropic.text("two")] * 2, main, clock=clock)


def test_when_the_second_fails_in_that_time_the_first_is_asked_after_it() -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        assert (await collect(pair))[1].model == SECOND
        assert (await collect(pair))[1].model == FIRST

    both(
        [*[status(503)] * 3, text("one")],
        [anthropic.text("two"), *[anthropic.error(529, "overloaded_error")] * 3],
        main,
    )


def test_when_both_fail_the_error_tells_of_both() -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        with pytest.raises(ModelOverloaded) as caught:
            await collect(pair)
        assert FIRST in caught.value.detail
        assert SECOND in caught.value.detail

    both([status(503)] * 3, [anthropic.error(529, "overloaded_error")] * 3, main)


def test_the_records_of_one_model_never_go_to_the_other() -> None:
    thought = "only for the second"

    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        _, reply = await collect(pair)
        assert reply.blocks
        said = Message(role="assistant", text=reply.text, blocks=reply.blocks, model=reply.model)
        asked = (*ASK.messages, said, Message(role="user", text="More."))
        clock.seconds += 1000
        assert (await collect(pair, ModelRequest(messages=asked)))[1].model == FIRST
        assert thought not in first.requests[-1].body.decode()
        assert anthropic.sign(thought) not in first.requests[-1].body.decode()
        assert (await collect(pair, ModelRequest(messages=asked)))[1].model == SECOND
        assert second.requests[-1].json["messages"][1]["content"][0]["signature"] == anthropic.sign(thought)

    clock = Clock()
    both(
        [*[status(503)] * 3, text("one"), *[status(503)] * 3],
        [anthropic.text("two", thought=thought), anthropic.text("three")],
        main,
        clock=clock,
    )


def test_stopping_closes_the_connection_of_the_one_that_answers() -> None:
    async def main(pair: FallbackModel, first: ModelServer, second: ModelServer) -> None:
        async with contextlib.aclosing(pair.stream(ASK)) as parts:
            assert await anext(parts) == TextDelta(text="a long ")
        assert await asyncio.to_thread(second.requests[0].gone.wait, 10)

    answer = anthropic.text("a long answer")
    both([status(503)] * 3, [held(answer, Gate(), after=3)], main)


def test_a_model_that_does_not_sign_its_replies_is_named_all_the_same() -> None:
    class Unsigned:
        name = "other:model"

        async def stream(self, request: ModelRequest) -> Any:
            yield Reply(text="hi", complete=True)

        async def aclose(self) -> None:
            return

    async def main() -> None:
        pair = FallbackModel(Unsigned(), Unsigned())
        assert (await collect(pair))[1].model == "other:model"

    asyncio.run(main())


def test_both_are_asked_to_let_go_even_if_one_fails_to() -> None:
    closed: list[str] = []

    @dataclass
    class Stubborn:
        name: str

        async def stream(self, request: ModelRequest) -> Any:
            raise ModelUnreachable(self.name)
            yield

        async def aclose(self) -> None:
            closed.append(self.name)
            raise OSError(self.name)

    async def main() -> None:
        pair = FallbackModel(Stubborn("a"), Stubborn("b"))
        with pytest.raises(ModelUnreachable, match="a; the fallback neither: b"):
            await collect(pair)
        with pytest.raises(OSError, match="b"):
            await pair.aclose()

    asyncio.run(main())
    assert closed == ["a", "b"]
