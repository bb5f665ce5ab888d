"""A bare RQ worker and a job that does nothing but ask the model's endpoint: the least a queue of forked jobs costs."""

import http.client
import sys
from urllib.parse import urlsplit

from redis import Redis
from rq import Worker
from rq.serializers import JSONSerializer

QUEUE = "bare"


def ask(url: str) -> None:
    """Send one request, and read what comes."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.request("POST", "/v1/chat/completions", "{}", {"Content-Type": "application/json"})
    connection.getresponse().read()


if __name__ == "__main__":
    Worker([QUEUE], connection=Redis.from_url(sys.argv[1]), serializer=JSONSerializer).work(logging_level="WARNING")
