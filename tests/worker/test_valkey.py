import asyncio
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from tests.gateway.supervised import until
from worker.redis_server import RedisUnreachable, check_redis, ping
from worker.settings import CommonSettings
from worker.valkey import SUN_PATH_BYTES, EmbeddedValkey, socket_path


@contextmanager
def server(data_dir: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    embedded = EmbeddedValkey(data_dir)
    embedded.prepare()
    process = subprocess.Popen([*embedded.argv(), *options])
    try:
        until(lambda: answers(data_dir))
        yield process
    finally:
        process.kill()
        process.wait(20)
        embedded.tidy()


def address(data_dir: Path) -> str:
    return CommonSettings(data_dir=data_dir).redis_address


def answers(data_dir: Path) -> bool:
    try:
        asyncio.run(ping(address(data_dir)))
    except RedisUnreachable:
        return False
    return True


def test_what_was_acknowledged_survives_kill_9_in_the_middle_of_writing(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    acknowledged = 0
    enough = threading.Event()

    def write() -> None:
        nonlocal acknowledged
        with redis.Redis.from_url(address(data_dir)) as client:
            try:
                while True:
                    client.rpush("list", acknowledged)
                    acknowledged += 1
                    if acknowledged == 2000:
                        enough.set()
            except redis.RedisError:
                return

    with server(data_dir) as process:
        writer = threading.Thread(target=write)
        writer.start()
        assert enough.wait(20)
        os.kill(process.pid, signal.SIGKILL)
        writer.join(20)
    with server(data_dir), redis.Redis.from_url(address(data_dir)) as client:
        kept = [int(value) for value in client.lrange("list", 0, -1)]
    assert kept[:acknowledged] == list(range(acknowledged))
    assert len(kept) - acknowledged in {0, 1}


def test_it_syncs_before_it_answers_and_never_throws_data_away(tmp_path: Path) -> None:
    with server(tmp_path / "data"), redis.Redis.from_url(address(tmp_path / "data"), decode_responses=True) as client:
        settings = client.config_get("appendonly", "appendfsync", "maxmemory-policy", "save", "port")
    assert settings == {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory-policy": "noeviction",
        "save": "",
        "port": "0",
    }


def test_nobody_else_can_reach_it_or_its_files(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with server(data_dir):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [data_dir, *data_dir.iterdir()]}
        socket_mode = stat.S_IMODE(socket_path(data_dir).stat().st_mode)
    assert modes == {"data": 0o700, "run": 0o700, "valkey": 0o700}
    assert socket_mode == 0o600


def test_a_data_directory_with_a_long_path_works_too_and_always_at_the_same_place(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long-" * 30) / "data"
    assert len(os.fsencode(socket_path(data_dir))) <= SUN_PATH_BYTES
    with server(data_dir):
        assert stat.S_IMODE(socket_path(data_dir).parent.stat().st_mode) == 0o700
    assert not socket_path(data_dir).parent.exists()


def test_a_data_directory_that_is_open_to_others_is_refused_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="chmod 700"):
        EmbeddedValkey(tmp_path / "data").prepare()


def test_a_link_in_place_of_the_data_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        EmbeddedValkey(tmp_path / "data").prepare()


def test_a_large_log_is_set_aside(tmp_path: Path) -> None:
    embedded = EmbeddedValkey(tmp_path / "data")
    embedded.prepare()
    embedded.log.write_bytes(bytes(5 << 20))
    embedded.prepare()
    assert not embedded.log.exists()
    assert embedded.log.with_suffix(".log.old").exists()
    embedded.tidy()


@pytest.mark.requirement("cli.doctor")
def test_a_server_that_keeps_everything_passes_its_checks(tmp_path: Path) -> None:
    with server(tmp_path / "data"):
        checks = asyncio.run(check_redis(address(tmp_path / "data")))
    assert [(check.name, check.state) for check in checks] == [
        ("redis", "ok"),
        ("redis durability", "ok"),
        ("redis eviction", "ok"),
    ]


@pytest.mark.requirement("cli.doctor")
def test_a_server_that_may_lose_data_fails_with_the_command_that_mends_it(tmp_path: Path) -> None:
    with server(tmp_path / "data", "--appendonly", "no", "--maxmemory-policy", "allkeys-lru"):
        checks = asyncio.run(check_redis(address(tmp_path / "data")))
    assert [(check.state, check.fix) for check in checks[1:]] == [
        ("fail", "CONFIG SET appendonly yes"),
        ("fail", "CONFIG SET maxmemory-policy noeviction"),
    ]


def test_a_managed_server_that_hides_its_settings_gives_a_warning(tmp_path: Path) -> None:
    with server(tmp_path / "data", "--rename-command", "CONFIG", ""):
        checks = asyncio.run(check_redis(address(tmp_path / "data")))
    assert [check.state for check in checks] == ["ok", "warn", "warn"]


@pytest.mark.requirement("bad.redis", "settings.secrets")
def test_a_refused_password_is_told_without_it(tmp_path: Path) -> None:
    with server(tmp_path / "data"), redis.Redis.from_url(address(tmp_path / "data")) as client:
        client.config_set("requirepass", "the-right-one")
        url = address(tmp_path / "data").replace("unix://", "unix://:the-wrong-one@")
        with pytest.raises(RedisUnreachable) as caught:
            asyncio.run(ping(url))
    assert "refuses the password" in str(caught.value)
    assert "the-wrong-one" not in str(caught.value)


@pytest.mark.requirement("bad.redis")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis://:hidden@127.0.0.1:1/0", "Redis at redis://127.0.0.1:1/0 cannot be reached: Connection refused"),
        ("unix:///nowhere/s", "Redis at unix:///nowhere/s cannot be reached: No such file or directory"),
        ("redis://127.0.0.1:port", "Redis at redis://127.0.0.1:port cannot be reached: Port could not be cast"),
    ],
)
def test_an_unreachable_server_is_one_line_with_its_address_and_the_reason(url: str, reason: str) -> None:
    with pytest.raises(RedisUnreachable) as caught:
        asyncio.run(ping(url))
    assert str(caught.value).startswith(reason)
    assert "hidden" not in str(caught.value)


@pytest.mark.requirement("bad.redis")
def test_what_is_no_redis_at_all_is_told_so() -> None:
    async def ask() -> str:
        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
            with pytest.raises(RedisUnreachable) as caught:
                await ping(f"redis://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        return str(caught.value)

    assert asyncio.run(ask()).endswith("does not speak the Redis protocol")
