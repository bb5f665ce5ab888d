from pathlib import Path

import pytest

from tests.servers.product import Product, WebPerson


@pytest.mark.requirement("cli.gateway-worker")
def test_the_two_commands_together_serve_a_message_and_each_ends_politely(tmp_path: Path) -> None:
    product = Product(tmp_path)
    try:
        product.valkey.start()
        product.start_part("worker", command=True)
        product.start_part("gateway", command=True)
        person = WebPerson(product.web_address, product.web_token)
        person.say("list the files")
        assert person.said("hello.py"), [m["text"] for m in person.messages()]
        person.close()
        assert product.stop("gateway") == 0
        assert product.stop("worker") == 0
    finally:
        product.close()
