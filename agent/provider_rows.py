"""The vendors, one row each; a fact that the vendor's own documentation does not give is left out.

Base URLs are those of that documentation; where a vendor has one endpoint for mainland China and one for elsewhere, the
row has the former, and a configured base URL replaces it. Prices are list prices, without promotions; where a vendor's
price depends on the length of the prompt, that of short prompts stands with a comment, or none.
"""

from dataclasses import replace

from agent.provider import ModelFacts, Price, Provider

_GLM_5_3 = {"thinking": {"type": "enabled", "clear_thinking": False}, "tool_stream": True}
# By default the newer Claude models send their thinking without its text.
_ADAPTIVE = {"thinking": {"type": "adaptive", "display": "summarized"}}


def _cny(input_: float, cached: float, output: float) -> Price:
    return Price(input=input_, cached=cached, output=output, currency="CNY")


def _usd(input_: float, cached: float, output: float) -> Price:
    return Price(input=input_, cached=cached, output=output, currency="USD")


def _claude_price(input_: float, cached: float, output: float) -> Price:
    # https://platform.claude.com/docs/en/build-with-claude/prompt-caching: a mark that lasts five minutes.
    return replace(_usd(input_, cached, output), written=input_ * 1.25)


def _claude(name: str, price: Price) -> ModelFacts:
    return ModelFacts(
        name=name,
        window=1_000_000,
        max_output=128_000,
        images=True,
        price=price,
        echoes_reasoning=True,
        fields=_ADAPTIVE,
    )


ROWS = (
    Provider(
        id="deepseek",
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-flash",
        # The prices of peak hours; outside of them it is half.
        models=(
            ModelFacts(
                name="deepseek-flash", window=1_000_000, max_output=384_000, images=True, price=_cny(2.0, 0.04, 8.0)
            ),
            ModelFacts(
                name="deepseek-v4-pro", window=1_000_000, max_output=384_000, images=False, price=_cny(9.0, 0.30, 27.0)
            ),
        ),
        echoes_reasoning=True,
        fields={"thinking": {"type": "enabled"}},
        text_calls=True,
    ),
    Provider(
        id="glm",
        aliases=("zhipu", "zai", "bigmodel"),
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_variable="ZAI_API_KEY",
        default_model="glm-5.1",
        models=(
            ModelFacts(name="glm-5.1", window=200_000, images=False, echoes_reasoning=False),
            ModelFacts(name="glm-5.3", window=1_000_000, images=False, price=_cny(8.0, 2.0, 28.0), fields=_GLM_5_3),
            ModelFacts(
                name="glm-5.3-flash", window=1_000_000, images=True, price=_cny(0.8, 0.23, 2.8), fields=_GLM_5_3
            ),
            ModelFacts(name="glm-5v-turbo", images=True, echoes_reasoning=False),
        ),
        echoes_reasoning=True,
    ),
    Provider(
        id="hunyuan",
        aliases=("hy4", "tencent", "tokenhub"),
        base_url="https://tokenhub.tencentmaas.com/v1",
        key_variable="TOKENHUB_API_KEY",
        default_model="hy4-preview",
        models=(ModelFacts(name="hy4-preview", window=1_000_000, images=False),),
        echoes_reasoning=True,
        fields={"reasoning_effort": "high"},
    ),
    Provider(
        id="kimi",
        aliases=("moonshot",),
        base_url="https://api.moonshot.cn/v1",
        key_variable="MOONSHOT_API_KEY",
        default_model="kimi-k2.6",
        models=(ModelFacts(name="kimi-k2.6", window=256_000, images=True),),
        echoes_reasoning=True,
        output_field="max_completion_tokens",
    ),
    Provider(
        id="step",
        aliases=("stepfun",),
        base_url="https://api.stepfun.com/v1",
        key_variable="STEPFUN_API_KEY",
        default_model="step-3.5-flash",
        models=(ModelFacts(name="step-3.5-flash", window=256_000, images=False),),
        stream_options=False,
        fields={"reasoning_format": "deepseek-style"},
    ),
    Provider(
        id="qwen",
        aliases=("dashscope", "tongyi"),
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        default_model="qwen-plus",
    ),
    Provider(
        id="minimax",
        base_url="https://api.minimaxi.com/v1",
        key_variable="MINIMAX_API_KEY",
        default_model="MiniMax-M3",
        models=(
            ModelFacts(name="MiniMax-M3", window=1_000_000, images=True),
            ModelFacts(name="MiniMax-M2.7", window=204_800, images=False),
        ),
        echoes_reasoning=True,
        reasoning_field="reasoning_details",
        output_field="max_completion_tokens",
        fields={"reasoning_split": True},
    ),
    Provider(
        id="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        default_model="gpt-5",
        models=(
            ModelFacts(name="gpt-5", window=400_000, max_output=128_000, images=True, price=_usd(1.25, 0.125, 10.0)),
            # Chat completions of it have tools only without reasoning. Prompts over 272,000 tokens cost twice as much.
            ModelFacts(
                name="gpt-6-sol",
                window=1_050_000,
                max_output=128_000,
                images=True,
                price=_usd(2.0, 0.20, 10.0),
                fields={"reasoning_effort": "none"},
            ),
        ),
        output_field="max_completion_tokens",
    ),
    Provider(
        id="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
        echoes_reasoning=True,
        reasoning_field="reasoning_details",
    ),
    Provider(
        id="anthropic",
        aliases=("claude",),
        base_url="https://api.anthropic.com/v1",
        key_variable="ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
        models=(
            _claude("claude-sonnet-5-5", _claude_price(2.0, 0.20, 10.0)),
            _claude("claude-opus-5-5", _claude_price(4.0, 0.20, 20.0)),
            _claude("claude-opus-5", _claude_price(5.0, 0.50, 25.0)),
            ModelFacts(
                name="claude-haiku-4-5",
                window=200_000,
                max_output=64_000,
                images=True,
                price=_claude_price(1.0, 0.10, 5.0),
            ),
        ),
        echoes_reasoning=True,
        family="anthropic",
    ),
    Provider(id="ollama", base_url="http://127.0.0.1:11434/v1", key_variable="OLLAMA_API_KEY", needs_key=False),
    # Any other endpoint of this kind, such as vLLM or llama.cpp, at a configured base URL.
    Provider(id="compatible", aliases=("vllm",), base_url="", key_variable="PAIGATE_MODEL_API_KEY", needs_key=False),
    # The rule-driven stand-in of `agent.models.demo`, at the base URL that it printed.
    Provider(id="demo", base_url="", key_variable="PAIGATE_MODEL_API_KEY", default_model="demo", needs_key=False),
)
"""Every provider; the first is the default."""
