"""What one task may use: which limit forbids the next call, what is kept for closing, and what a call costs."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.limits import (
    RESERVE,
    LimitReached,
    NextCall,
    Reserve,
    Spent,
    TaskLimits,
    UnusableLimit,
    can_close,
    cost_of,
    estimate_tokens,
    limit_reached,
    require_price,
    seconds_left,
)
from agent.model import Usage
from agent.providers import PROVIDERS, Price
from agent.task import Task

YUAN = Price(input=2.0, cached=0.04, output=8.0, currency="CNY")
DOLLAR = Price(input=2.0, cached=0.04, output=8.0, currency="USD")
CALL = NextCall(prompt_tokens=1_000, completion_tokens=500, price=YUAN)
SMALL = Reserve(report_tokens=100, result_tokens=0, seconds=10)


def used(prompt: int = 0, completion: int = 0, **more: Any) -> Spent:
    return Spent(usage=Usage(prompt_tokens=prompt, completion_tokens=completion), **more)


def money(limit: str) -> TaskLimits:
    return TaskLimits(cost=Decimal(limit), currency="CNY")


@pytest.mark.requirement("limits.each")
def test_without_limits_everything_may_go_on() -> None:
    spent = used(10**9, 10**9, cost=None, steps=10**6, seconds=1e9)
    assert limit_reached(TaskLimits(), spent, NextCall(prompt_tokens=10**9)) is None
    assert can_close(TaskLimits(), spent, NextCall(prompt_tokens=10**9))
    assert seconds_left(TaskLimits(), spent) is None


@pytest.mark.requirement("limits.each")
@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        (TaskLimits(tokens=9_000), LimitReached(name="tokens", limit=9_000, spent=9_000)),
        (money("1"), LimitReached(name="cost", limit=Decimal(1), spent=Decimal("1.5"), currency="CNY")),
        (TaskLimits(steps=4), LimitReached(name="steps", limit=4, spent=4)),
        (TaskLimits(seconds=100), LimitReached(name="seconds", limit=100, spent=100.0)),
        (
            TaskLimits(tokens=1, cost=Decimal(1), currency="CNY", steps=1, seconds=1),
            LimitReached(name="tokens", limit=1, spent=9_000),
        ),
        (TaskLimits(steps=1, seconds=1), LimitReached(name="steps", limit=1, spent=4)),
    ],
)
def test_a_limit_is_reached_when_as_much_was_spent(limits: TaskLimits, reached: LimitReached) -> None:
    spent = used(8_000, 1_000, cost=Decimal("1.5"), currency="CNY", steps=4, seconds=100.0)
    assert limit_reached(limits, spent, CALL) == reached


@pytest.mark.requirement("limits.each")
def test_each_limit_lets_go_on_while_there_is_room() -> None:
    limits = TaskLimits(tokens=50_000, cost=Decimal(1), currency="CNY", steps=5, seconds=1_000)
    spent = used(8_000, 1_000, cost=Decimal("0.1"), currency="CNY", steps=4, seconds=100.0)
    assert limit_reached(limits, spent, CALL) is None
    assert can_close(limits, spent, CALL)


@pytest.mark.requirement("limits.reserve")
def test_a_call_is_made_only_if_the_closing_call_fits_after_it() -> None:
    # The call 1,000 + 500; the closing call 1,000 + 500 + 256 of instruction + 100 of report.
    limits = TaskLimits(tokens=10_000)
    assert limit_reached(limits, used(10_000 - 1_500 - 1_856), CALL, SMALL) is None
    spent = used(10_000 - 1_500 - 1_856 + 1)
    assert limit_reached(limits, spent, CALL, SMALL) == LimitReached(name="tokens", limit=10_000, spent=spent.tokens)
    assert can_close(limits, spent, CALL, SMALL)


@pytest.mark.requirement("limits.reserve", "limits.closing-fits")
def test_the_closing_call_is_made_only_if_it_fits() -> None:
    limits = TaskLimits(tokens=10_000)
    assert can_close(limits, used(10_000 - 1_356), CALL, SMALL)
    assert not can_close(limits, used(10_000 - 1_355), CALL, SMALL)
    assert can_close(TaskLimits(seconds=10), used(seconds=9.9), CALL)
    assert not can_close(TaskLimits(seconds=10), used(seconds=10.0), CALL)
    assert can_close(TaskLimits(steps=1), used(steps=7), CALL)


@pytest.mark.requirement("limits.reserve")
def test_results_may_lengthen_the_closing_prompt_but_of_a_small_limit_little_is_kept_for_them() -> None:
    roomy = replace(SMALL, result_tokens=8_000)
    assert limit_reached(TaskLimits(tokens=100_000), used(100_000 - 3_356 - 8_000), CALL, roomy) is None
    assert limit_reached(TaskLimits(tokens=100_000), used(100_000 - 3_356 - 7_999), CALL, roomy) is not None
    assert limit_reached(TaskLimits(tokens=8_000), used(8_000 - 3_356 - 1_000), CALL, roomy) is None
    assert limit_reached(TaskLimits(tokens=8_000), used(8_000 - 3_356 - 999), CALL, roomy) is not None


@pytest.mark.requirement("limits.reserve")
@pytest.mark.parametrize("limits", [TaskLimits(tokens=500), money("0.0001"), TaskLimits(tokens=0), money("0")])
def test_a_limit_too_small_for_any_call_is_reached_at_once_and_not_passed(limits: TaskLimits) -> None:
    assert limit_reached(limits, Spent(), CALL, SMALL) is not None
    assert not can_close(limits, Spent(), CALL, SMALL)


@pytest.mark.requirement("limits.reserve")
@pytest.mark.parametrize("limits", [TaskLimits(tokens=2_000), money("0.01")])
def test_a_limit_with_room_for_the_closing_call_alone_is_closed_with_it(limits: TaskLimits) -> None:
    assert limit_reached(limits, Spent(), CALL, SMALL) is not None
    assert can_close(limits, Spent(), CALL, SMALL)


@pytest.mark.parametrize("limits", [TaskLimits(steps=0), TaskLimits(seconds=0)])
def test_a_limit_of_nought_allows_nothing(limits: TaskLimits) -> None:
    assert limit_reached(limits, Spent(), CALL) is not None


@pytest.mark.requirement("limits.reserve")
@pytest.mark.parametrize(
    ("limit", "spent", "left"),
    [(1_000, 0.0, 940), (1_000, 939.0, 1), (1_000, 940.0, 0), (100, 0.0, 75), (100, 80.0, -5)],
)
def test_time_for_work_ends_where_the_reserve_begins(limit: float, spent: float, left: float) -> None:
    limits = TaskLimits(seconds=limit)
    assert seconds_left(limits, used(seconds=spent), RESERVE) == left
    assert (limit_reached(limits, used(seconds=spent), CALL) is None) == (left > 0)


@pytest.mark.requirement("limits.unknown-price")
@pytest.mark.parametrize(
    ("spent", "call", "told"),
    [
        (Spent(cost=None), CALL, None),
        (Spent(cost=Decimal(1), currency="USD"), CALL, None),
        (Spent(cost=Decimal(1), currency="CNY"), replace(CALL, price=None), None),
        (Spent(cost=Decimal(1), currency="CNY"), replace(CALL, price=DOLLAR), None),
    ],
)
def test_money_that_cannot_be_told_is_not_nought(spent: Spent, call: NextCall, told: None) -> None:
    reached = LimitReached(name="cost", limit=Decimal(1_000), spent=told, currency="CNY")
    assert limit_reached(money("1000"), spent, call) == reached
    assert not can_close(money("1000"), spent, call)
    assert limit_reached(TaskLimits(tokens=10**9), spent, call) is None


@pytest.mark.requirement("limits.unknown-price")
def test_a_limit_in_money_with_an_unknown_price_is_refused_with_the_fix() -> None:
    with pytest.raises(UnusableLimit, match="price of 'qwen:x' is unknown; set PAIGATE_MODEL_PRICE") as refused:
        require_price(money("1"), "qwen:x", None)
    assert refused.value.setting == "PAIGATE_BUDGET_TURN_COST"
    require_price(money("1"), "deepseek:deepseek-flash", YUAN)
    require_price(TaskLimits(tokens=1), "qwen:x", None)


@pytest.mark.requirement("limits.currency")
def test_a_limit_in_money_has_the_currency_of_the_price() -> None:
    with pytest.raises(UnusableLimit, match="no currency"):
        TaskLimits(cost=Decimal(1))
    with pytest.raises(UnusableLimit, match="in CNY and the price of 'openai:x' in USD"):
        require_price(money("1"), "openai:x", DOLLAR)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("tokens", -1),
        ("steps", -1),
        ("seconds", -0.1),
        ("seconds", float("nan")),
        ("cost", Decimal(-1)),
        ("cost", Decimal("NaN")),
    ],
)
def test_a_limit_that_is_none_is_refused_by_name(name: str, limit: Any) -> None:
    with pytest.raises(UnusableLimit, match=f"limit of {name} is") as refused:
        TaskLimits(**{name: limit}, currency="CNY")
    assert refused.value.setting == f"PAIGATE_BUDGET_TURN_{name.upper()}"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(prompt_tokens=1_000_000, completion_tokens=0), "2"),
        (Usage(prompt_tokens=0, completion_tokens=1_000_000), "8"),
        (Usage(prompt_tokens=1_000_000, cached_tokens=1_000_000, completion_tokens=0), "0.04"),
        (Usage(prompt_tokens=1_000, cached_tokens=600, completion_tokens=10), "0.000904"),
        (Usage(prompt_tokens=10, cached_tokens=600, completion_tokens=0), "0.0000004"),
        (Usage(prompt_tokens=0, completion_tokens=0), "0"),
    ],
)
def test_a_call_costs_exactly_what_its_tokens_cost(usage: Usage, cost: str) -> None:
    assert cost_of(usage, YUAN) == Decimal(cost)


@pytest.mark.requirement("limits.cache-writes")
@pytest.mark.parametrize(
    ("written", "cost"),
    [(0, "1.1"), (500, "1.225"), (900, "1.325"), (5_000, "1.325")],
    ids=["none", "some", "all", "more"],
)
def test_tokens_that_are_put_into_a_cache_have_their_own_price(written: int, cost: str) -> None:
    usage = Usage(prompt_tokens=1_000, cached_tokens=100, written_tokens=written, completion_tokens=10)
    price = replace(YUAN, input=1_000.0, cached=1_000.0, output=10_000.0)
    assert cost_of(usage, price) == Decimal("1.1")
    assert cost_of(usage, replace(price, written=1_250.0)) == Decimal(cost)


def test_what_was_put_into_a_cache_is_added_up_and_old_records_have_none() -> None:
    task = Task(task_id="t")
    old = {"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 2, "estimated": False}
    task.charge(old, None, None)
    task.charge({**old, "written_tokens": 3}, None, None)
    task.charge({**old, "written_tokens": 1}, None, None)
    assert task.usage == Usage(prompt_tokens=15, completion_tokens=3, cached_tokens=6, written_tokens=4)


@pytest.mark.requirement("limits.unknown-price")
def test_a_call_of_unknown_price_has_no_cost() -> None:
    assert cost_of(Usage(prompt_tokens=1, completion_tokens=1), None) is None


def test_prices_of_the_table_are_reckoned_with() -> None:
    price = PROVIDERS["deepseek"].models[0].price
    assert cost_of(Usage(prompt_tokens=1_000, completion_tokens=1_000), price)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        *(
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("中", 1),
            ("中文", 2),
            ("中文字", 2),
            ("a中", 1),
            ("ab中文", 2),
        ),
        *(("かな한글", 3), ("，。！", 2), ("🙂🙂🙂🙂🙂", 2), ("é" * 8, 2), ("𠀀𠀀𠀀", 2), ("\ud83d", 1)),
        *(("中" * 3_000_000, 2_000_000), ("a" * 4_000_000, 1_000_000)),
    ],
)
def test_tokens_are_estimated_by_the_kind_of_letter(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


sizes = st.integers(0, 5_000)


@pytest.mark.requirement("limits.reserve")
@given(
    st.integers(0, 200_000),
    st.lists(st.tuples(sizes, sizes), max_size=40),
    st.integers(0, 3_000),
    st.booleans(),
)
def test_a_task_passes_its_limit_by_no_more_than_it_was_not_told(
    limit: int, steps: list[tuple[int, int]], most: int, told: bool
) -> None:
    """Prompts grow by each reply and its results; `most` an answer may have, and it is told or not."""
    limits, spent, prompt = TaskLimits(tokens=limit), Spent(), 1_000
    for answer, results in steps:
        call = NextCall(prompt_tokens=prompt, completion_tokens=most if told else 0)
        if limit_reached(limits, spent, call) is not None:
            break
        completion = min(answer, most)
        spent = used(spent.usage.prompt_tokens + prompt, spent.usage.completion_tokens + completion)
        prompt += completion + results
        assert spent.tokens <= limit + (0 if told else completion)
    if can_close(limits, spent, NextCall(prompt_tokens=prompt)):
        assert spent.tokens + prompt + RESERVE.report_tokens <= limit
