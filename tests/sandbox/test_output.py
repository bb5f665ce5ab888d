from hypothesis import given
from hypothesis import strategies as st

from agent.sandboxes.bubblewrap.output import HeadAndTail


def test_an_output_within_the_limit_is_kept_whole() -> None:
    output = HeadAndTail(10)
    output.add(b"01234")
    output.add(b"56789")

    assert output.text() == "0123456789"
    assert not output.truncated


def test_a_longer_output_loses_its_middle_and_says_how_much() -> None:
    output = HeadAndTail(10)
    output.add(b"head.....tail!")

    assert output.truncated
    assert output.text() == "head.\n… 4 bytes left out …\ntail!"


def test_undecodable_bytes_are_replaced() -> None:
    output = HeadAndTail(10)
    output.add(b"a\xffb")

    assert output.text() == "a\ufffdb"


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(min_value=0, max_value=60))
def test_head_and_tail_are_those_of_the_whole_however_it_is_cut(chunks: list[bytes], limit: int) -> None:
    output = HeadAndTail(limit)
    for chunk in chunks:
        output.add(chunk.replace(b"\n", b" "))
    whole = b"".join(chunks).replace(b"\n", b" ")

    assert output.truncated == (len(whole) > limit)
    if output.truncated:
        tail = whole[len(whole) - (limit - limit // 2) :].decode("utf-8", "replace")
        left_out = f"\n… {len(whole) - limit:,} bytes left out …\n"
        assert output.text() == whole[: limit // 2].decode("utf-8", "replace") + left_out + tail
    else:
        assert output.text() == whole.decode("utf-8", "replace")
