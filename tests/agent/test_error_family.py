"""Which failures are alike, and what of a text counts when two are compared."""

import pytest

from agent.runaway.error_family import error_family
from agent.runaway.fingerprint import MOST_MASKED, canonical_arguments, masked, text_fingerprint

pytestmark = pytest.mark.requirement("runaway.errors")


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (family, text)
        for family, texts in {
            "timeout": (
                *("Timed out after 60 s", "Read timeout", "connect time-out", "context deadline exceeded", "请求超时"),
                *("HTTP 504", "Timed out: connection refused, not found, exit code 1"),
            ),
            "rate_limit": (
                "429 Too Many Requests",
                "Rate limit reached",
                "rate-limited",
                "触发限流",
                "请求过于频繁",
                "HTTP 429",
            ),
            "network": (
                *(
                    "curl: (7) Failed to connect to x",
                    "Connection refused",
                    "ECONNRESET",
                    "getaddrinfo failed",
                    "网络异常",
                ),
                *(
                    "Could not resolve host: a",
                    "Network is unreachable",
                    "连接被重置",
                    "无法连接到服务器",
                    "TLS handshake",
                    "ConnectionRefusedError",
                ),
            ),
            "auth": ("401 Unauthorized", "Authentication required", "Invalid API key", "未登录", "认证已过期"),
            "permission": (
                *("Permission denied", "403 Forbidden", "EACCES", "'../x' leads out of the project; stay", "没有权限"),
                *("Operation not permitted", "Read-only file system", "路径越界"),
            ),
            "not_found": (
                *(
                    "No such file or directory",
                    "404",
                    "ModuleNotFoundError: No module named 'x'",
                    "There is no tool 'x'.",
                ),
                *(
                    "x does not exist",
                    "Could not find old_text",
                    "找不到文件",
                    "该文件不存在",
                    "command not found",
                    "FileNotFoundError",
                ),
            ),
            "invalid_argument": (
                *("The arguments do not fit: path: Field required", "Invalid value", "400 Bad Request", "参数错误"),
                "unrecognized option --x",
            ),
            "process_exit": (
                "exit code 1",
                "Exited with status 2",
                "returned non-zero exit status",
                "退出码 1",
                "exit: 3",
            ),
        }.items()
        for text in texts
    ],
)
def test_a_failure_is_put_into_its_family(family: str, text: str) -> None:
    assert error_family(text) == family
    assert error_family(text.upper()) == family


@pytest.mark.parametrize(
    "text", ["main.c:429:7 odd", "version 1.404.2", "odd-403", "error: expected ; at 12:404", "4040 items", "sslx"]
)
def test_numbers_that_only_look_like_a_status_are_none(text: str) -> None:
    assert error_family(text) == text.lower()


def test_any_other_failure_is_its_text_on_one_line() -> None:
    assert error_family("  Odd \n\tThing  at 10:00:01 ") == "odd thing at ·"
    assert error_family("") == ""
    assert len(error_family("odd " * 2_000)) == 1_024
    assert error_family("x" * 4_096 + " not found") == "x" * 1_024


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("took 0.12s at 10:22:33, pid 4242", "· at ·, ·"),
        ("Took 1m23s", "·"),
        ("finished in 1.5 seconds", "finished in ·"),
        ("real\t0m0.012s", "real\t·"),
        ("2026-01-05T10:00:00.123Z done", "· done"),
        ("2026/01/05 10:00 done", "· done"),
        ("Mon Jan  5 10:00:00 2026", "Mon ·"),
        ("05/Jan/2026:10:00:00 +0000", "·"),
        ("5 Jan 2026", "·"),
        ("10:22 AM", "·"),
        ("2026年1月5日", "·"),
        ("耗时：3.2 秒", "·"),
        ("用时 12", "·"),
        ("epoch 1767600000", "epoch ·"),
        ("[1] 12345", "·"),
        ("Process 12 ended", "· ended"),
        ("进程号：123", "·"),
        ("<Foo at 0x7f3a2b1c>", "<Foo at ·>"),
        ("Foo@1b6d3586", "Foo·"),
        ("elapsed: 12.5", "·"),
    ],
)
def test_what_the_clock_and_chance_put_in_is_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("3 failed, 2 passed", "a.py:12:34: error", "line 429", "port 8080", "v1.2.3", "step 1 of 7", "100%", "5 MB"),
        *("127.0.0.1:8080", "x1s", "0x1", "a@b", "12 items", "chapter 3:12b"),
    ],
)
def test_what_tells_of_progress_is_not_masked(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "text",
    ["1" * 100_000, "1:" * 50_000, "Jan " * 25_000, "0x" * 50_000, "pid " * 25_000, "1." * 50_000, "[1] " * 25_000],
)
def test_a_hostile_text_comes_out_short(text: str) -> None:
    assert len(masked(text)) < 2 * MOST_MASKED


@pytest.mark.parametrize("middle", ["a\n" * MOST_MASKED, "a" * MOST_MASKED])
def test_a_huge_text_is_masked_at_both_ends_and_compared_between(middle: str) -> None:
    one, other = ("took {0} s\n" + middle + "\ntook {0} s" for _ in range(2))
    assert masked(one.format(9)) == masked(other.format(8))
    assert masked(one.format(9)) != masked(one.format(9).replace("aa", "ab", 1).replace("a\na\n", "a\nb\n", 1))
    assert len(masked(one.format(9))) < 2 * MOST_MASKED


def test_a_digit_more_in_the_head_of_a_huge_text_shifts_nothing() -> None:
    text = "took {} s\n" + "line\n" * MOST_MASKED
    assert masked(text.format(9)) == masked(text.format(10))


def test_arguments_are_written_one_way() -> None:
    assert canonical_arguments('{"b": [2, 1], "a": {}}') == '{"a":{},"b":[2,1]}'
    assert canonical_arguments(" ") == canonical_arguments({}) == canonical_arguments("null") == "{}"


def test_texts_are_the_same_but_for_blanks_and_the_clock() -> None:
    assert text_fingerprint("a  b\n10:00:01") == text_fingerprint(" a b 10:00:02 ")
    assert text_fingerprint("a \ud83d") != text_fingerprint("a b")
