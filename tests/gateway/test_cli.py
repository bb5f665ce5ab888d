import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.gateway.supervised import ROOT, SECONDS

PAIGATE = [sys.executable, "-c", "from gateway.cli import main; main()"]
COMMANDS = ["up", "gateway", "worker", "doctor", "version"]


def environment(home: Path, **settings: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PAIGATE_", "XDG_"))}
    return {**ours, "HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "dumb", "COLUMNS": "200", **settings}


def paigate(home: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PAIGATE, *arguments],
        env=environment(home, **settings),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=3 * SECONDS,
        check=False,
    )


def examine(home: Path, **settings: str) -> tuple[int, dict[str, dict[str, str]]]:
    result = paigate(home, "doctor", "--json", **settings)
    told: dict[str, Any] = json.loads(result.stdout)
    assert told["ok"] is (result.returncode == 0)
    return result.returncode, {check["name"]: check for check in told["checks"]}


@contextmanager
def endpoint(status: int, body: object) -> Iterator[str]:
    """A server that answers every request alike."""

    async def answer(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse(body, status)

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(SECONDS)


@pytest.fixture
def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


@pytest.mark.requirement("cli.help")
def test_the_help_names_every_command_and_the_one_to_begin_with(tmp_path: Path) -> None:
    result = paigate(tmp_path, "--help")
    assert result.returncode == 0
    assert "Begin with:   paigate up" in result.stdout
    for command in COMMANDS:
        assert f"\n  {command} " in result.stdout


@pytest.mark.requirement("cli.help")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_says_what_it_does_gives_an_example_and_what_is_next(
    tmp_path: Path, command: str
) -> None:
    result = paigate(tmp_path, command, "--help")
    assert result.returncode == 0
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[2].endswith(".")
    assert any(line.startswith("Example:  ") and f"paigate {command}" in line for line in lines)
    assert any(line.startswith("Next:     ") for line in lines)


@pytest.mark.requirement("cli.version")
def test_version_prints_the_installed_version(tmp_path: Path) -> None:
    result = paigate(tmp_path, "version")
    assert result.returncode == 0
    assert f'version = "{result.stdout.removeprefix("paigate ").strip()}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.requirement("settings.unknown", "settings.bad-value", "settings.secrets")
@pytest.mark.parametrize("command", ["up", "gateway", "worker"])
def test_wrong_settings_are_a_line_each_and_exit_code_78(tmp_path: Path, command: str) -> None:
    wrong = paigate(tmp_path, command, PAIGATE_HTTP_PORT="x", PAIGATE_MODEL_API_KEY="sk-hidden")
    unknown = paigate(tmp_path, command, PAIGATE_HTP_PORT="1", PAIGATE_MODEL_API_KEY="sk-hidden")
    assert (wrong.returncode, unknown.returncode) == (78, 78)
    assert wrong.stderr.startswith("paigate: PAIGATE_HTTP_PORT: ")
    assert unknown.stderr == "paigate: unknown setting PAIGATE_HTP_PORT; did you mean PAIGATE_HTTP_PORT?\n"
    assert wrong.stderr.count("\n") == 1
    assert "sk-hidden" not in wrong.stderr + wrong.stdout


@pytest.mark.requirement("bad.port")
def test_a_taken_port_is_one_line_with_the_fix_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = paigate(tmp_path, "up", PAIGATE_HTTP_PORT=port)
    assert result.returncode == 1
    assert result.stderr.startswith(f"paigate: port {port} of 127.0.0.1 is taken by another program: ")
    assert "PAIGATE_HTTP_PORT" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.requirement("bad.port")
def test_an_address_of_another_machine_is_one_line_with_the_fix(tmp_path: Path, free_port: str) -> None:
    result = paigate(tmp_path, "up", PAIGATE_HTTP_HOST="192.0.2.1", PAIGATE_HTTP_PORT=free_port)
    assert result.returncode == 1
    assert result.stderr == "paigate: 192.0.2.1 is no address of this machine: mend PAIGATE_HTTP_HOST\n"


@pytest.mark.requirement("bad.redis", "settings.secrets")
@pytest.mark.parametrize("command", ["up", "gateway", "worker"])
def test_an_unreachable_redis_is_one_line_with_the_fix_and_without_the_password(
    tmp_path: Path, free_port: str, command: str
) -> None:
    url = f"redis://me:hidden@127.0.0.1:{free_port}/0"
    result = paigate(tmp_path, command, PAIGATE_REDIS_URL=url, PAIGATE_HTTP_PORT=free_port)
    assert result.returncode == 1
    where = f"Redis at redis://127.0.0.1:{free_port}/0 cannot be reached: Connection refused; "
    assert result.stderr.startswith(f"paigate: {where}start it")
    assert result.stderr.count("\n") == 1
    assert "hidden" not in result.stderr


@pytest.mark.requirement("cli.gateway-worker")
def test_a_process_alone_without_redis_is_told_what_brings_one(tmp_path: Path) -> None:
    result = paigate(tmp_path, "worker")
    assert result.returncode == 1
    assert "paigate up" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_data_directory_that_is_open_to_others_is_one_line_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    for command in ("up", "worker"):
        result = paigate(tmp_path, command, PAIGATE_DATA_DIR=str(tmp_path / "open"))
        assert result.returncode == 1
        assert f"chmod 700 {tmp_path / 'open'}" in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_data_directory_that_cannot_be_made_is_one_line_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = paigate(tmp_path, "up", PAIGATE_DATA_DIR=str(tmp_path / "file/data"))
    assert result.returncode == 1
    assert "PAIGATE_DATA_DIR" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.requirement("cli.doctor")
def test_doctor_on_a_fresh_machine_finds_all_well_but_the_demo_model(tmp_path: Path, free_port: str) -> None:
    code, checks = examine(tmp_path, PAIGATE_HTTP_PORT=free_port)
    assert {name: check["state"] for name, check in checks.items()} == {
        "settings": "ok",
        "data": "ok",
        "disk": "ok",
        "redis": "ok",
        "sandbox": "ok",
        "model": "warn",
        "web chat": "ok",
        "telegram": "ok",
    }
    assert code == 0
    assert "PAIGATE_MODEL_API_KEY" in checks["model"]["fix"]


@pytest.mark.requirement("cli.doctor", "bad.token")
def test_doctor_prints_a_line_for_each_check_with_the_fix_below_it(tmp_path: Path, free_port: str) -> None:
    refusal = {"ok": False, "error_code": 401, "description": "Unauthorized"}
    with endpoint(401, refusal) as address:
        result = paigate(
            tmp_path,
            "doctor",
            PAIGATE_HTTP_PORT=free_port,
            PAIGATE_TELEGRAM_TOKEN="12345:hidden",
            PAIGATE_TELEGRAM_BASE_URL=f"{address}/bot",
        )
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    (number,) = (number for number, line in enumerate(lines) if line.startswith("fail"))
    assert lines[number].split(maxsplit=2) == ["fail", "telegram", "the token is refused"]
    assert lines[number + 1].strip() == "fix: copy it from @BotFather into PAIGATE_TELEGRAM_TOKEN"
    assert any(line.startswith("warn  telegram ids") for line in lines)
    assert "hidden" not in result.stdout + result.stderr


@pytest.mark.requirement("cli.doctor")
def test_doctor_names_the_bot_that_a_good_token_belongs_to(tmp_path: Path, free_port: str) -> None:
    bot = {"id": 12345, "is_bot": True, "first_name": "P", "username": "paigate_bot"}
    with endpoint(200, {"ok": True, "result": bot}) as address:
        _, checks = examine(
            tmp_path,
            PAIGATE_HTTP_PORT=free_port,
            PAIGATE_TELEGRAM_TOKEN="12345:hidden",
            PAIGATE_TELEGRAM_BASE_URL=f"{address}/bot",
            PAIGATE_TELEGRAM_ALLOW="7",
        )
    assert (checks["telegram"]["state"], checks["telegram"]["detail"]) == ("ok", "the token belongs to @paigate_bot")


@pytest.mark.requirement("cli.doctor", "cli.doctor-json")
@pytest.mark.parametrize(
    ("status", "state", "words"),
    [(200, "ok", "answers at"), (401, "fail", "refuses the key"), (404, "warn", "lists no models")],
)
def test_doctor_asks_the_models_endpoint_with_the_key(
    tmp_path: Path, free_port: str, status: int, state: str, words: str
) -> None:
    with endpoint(status, {"data": []}) as address:
        code, checks = examine(
            tmp_path,
            PAIGATE_HTTP_PORT=free_port,
            PAIGATE_MODEL="compatible:m",
            PAIGATE_MODEL_BASE_URL=f"{address}/v1",
            PAIGATE_MODEL_API_KEY="sk-hidden",
        )
    assert (checks["model"]["state"], code) == (state, int(state == "fail"))
    assert words in checks["model"]["detail"]
    assert "sk-hidden" not in str(checks)


@pytest.mark.requirement("cli.doctor", "bad.redis")
def test_doctor_fails_for_what_cannot_be_reached_or_used(tmp_path: Path, free_port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, checks = examine(
            tmp_path,
            PAIGATE_REDIS_URL=f"redis://:hidden@127.0.0.1:{free_port}",
            PAIGATE_HTTP_PORT=str(taken.getsockname()[1]),
            PAIGATE_MODEL="compatible:m",
            PAIGATE_MODEL_BASE_URL=f"http://127.0.0.1:{free_port}/v1",
            PAIGATE_MODEL_API_KEY="sk-hidden",
            PAIGATE_TELEGRAM_TOKEN="12345:hidden",
            PAIGATE_TELEGRAM_BASE_URL=f"http://127.0.0.1:{free_port}/bot",
        )
    assert code == 1
    for name in ("redis", "web chat", "model", "telegram"):
        assert (name, checks[name]["state"]) == (name, "fail")
        assert checks[name]["fix"]
    assert "hidden" not in str(checks)


@pytest.mark.requirement("cli.doctor-json", "settings.unknown")
def test_doctor_reports_wrong_settings_as_a_check_that_failed(tmp_path: Path) -> None:
    code, checks = examine(tmp_path, PAIGATE_LANG="fr")
    assert code == 1
    assert checks["settings"]["detail"].startswith("PAIGATE_LANG: ")


@pytest.mark.requirement("cli.doctor")
def test_doctor_warns_of_a_settings_file_that_others_can_read(tmp_path: Path, free_port: str) -> None:
    (tmp_path / "paigate.toml").write_text(f"http_port = {free_port}\n")
    (tmp_path / "paigate.toml").chmod(0o644)
    _, checks = examine(tmp_path)
    assert (checks["settings"]["state"], checks["settings"]["fix"]) == ("warn", "chmod 600 paigate.toml")
