import itertools
import json
import os
import pty
import re
import signal
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
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.gateway.supervised import ROOT, SECONDS, running
from worker.build import build_workshop
from worker.settings import SettingsError, WorkerSettings

PAIGATE = [sys.executable, "-c", "from gateway.cli import main; main()"]
COMMANDS = ["up", "gateway", "worker", "doctor", "settings", "link", "version"]
TYPED = {"PAIGATE_MODEL": "compatible:typed:x", "PAIGATE_MODEL_API_KEY": "sk-hidden"}


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
    """A server that answers every request alike: with JSON, or with the very text."""

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(body, status) if isinstance(body, str) else JSONResponse(body, status)

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
def test_no_commands_summary_is_cut_short_on_a_narrow_terminal(tmp_path: Path) -> None:
    summaries = paigate(tmp_path, "--help", COLUMNS="80").stdout.partition("\nCommands:\n")[2].splitlines()
    assert len(summaries) == len(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("..") for line in summaries)


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
    wrong = paigate(tmp_path, command, PAIGATE_HTTP_PORT="x", PAIGATE_MODEL="kimi", PAIGATE_MODEL_API_KEY="sk-hidden")
    unknown = paigate(tmp_path, command, PAIGATE_HTP_PORT="1", PAIGATE_MODEL_API_KEY="sk-hidden")
    no_model = paigate(tmp_path, command, PAIGATE_MODEL_API_KEY="sk-hidden")
    assert (wrong.returncode, unknown.returncode, no_model.returncode) == (78, 78, 78)
    assert no_model.stderr.startswith("paigate: PAIGATE_MODEL_API_KEY is set, but PAIGATE_MODEL is not: ")
    assert no_model.stderr.count("\n") == 1
    assert wrong.stderr.startswith("paigate: PAIGATE_HTTP_PORT: ")
    assert unknown.stderr == "paigate: unknown setting PAIGATE_HTP_PORT; did you mean PAIGATE_HTTP_PORT?\n"
    assert wrong.stderr.count("\n") == 1
    assert "sk-hidden" not in wrong.stderr + wrong.stdout + no_model.stderr


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


def test_a_data_directory_that_takes_no_file_is_one_line_with_the_fix(tmp_path: Path, free_port: str) -> None:
    data = tmp_path / "data"
    for part in (data, data / "run", data / "run/web-address"):
        part.mkdir(mode=0o700)
    (data / "run/web-address/kept").write_text("")
    result = paigate(tmp_path, "up", PAIGATE_DATA_DIR=str(data), PAIGATE_HTTP_PORT=free_port)
    assert result.returncode == 1
    assert result.stderr.startswith("paigate: the data directory cannot be used: Is a directory: ")
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
    assert lines[number].split(maxsplit=2)[1:] == ["telegram", "Telegram does not accept the bot token (Unauthorized)"]
    assert lines[number + 1].strip().startswith("fix: Set PAIGATE_TELEGRAM_TOKEN to the token that @BotFather shows")
    assert lines[number + 1].endswith("; or mend PAIGATE_TELEGRAM_BASE_URL")
    assert any(line.startswith("warn  telegram ids") for line in lines)
    assert "hidden" not in result.stdout + result.stderr


@pytest.mark.requirement("cli.doctor", "bad.token")
def test_doctor_tells_a_token_of_the_wrong_form_as_the_gateway_does(tmp_path: Path, free_port: str) -> None:
    code, checks = examine(tmp_path, PAIGATE_HTTP_PORT=free_port, PAIGATE_TELEGRAM_TOKEN="paigate_bot")
    assert (code, checks["telegram"]["state"]) == (1, "fail")
    assert checks["telegram"]["detail"] == "the bot token is not of the form 12345:letters"
    assert checks["telegram"]["fix"].startswith("Set PAIGATE_TELEGRAM_TOKEN ")


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


def models(*names: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


@pytest.mark.requirement("cli.doctor", "cli.doctor-json")
@pytest.mark.parametrize(
    ("status", "body", "state", "words", "fix"),
    [
        (200, models("typed:x"), "ok", "compatible:typed:x answers at", ""),
        (200, models("typed:x:latest"), "ok", "answers at", ""),
        (200, models(), "ok", "answers at", ""),
        (200, {"object": "list", "data": None}, "ok", "answers at", ""),
        (200, [{"id": "typed:x"}], "ok", "answers at", ""),
        (200, models("other", "typed:y"), "warn", "does not list the model typed:x", "nearest are typed:y"),
        (200, "<html>Login</html>", "warn", "answers with something else", "PAIGATE_MODEL_BASE_URL"),
        (200, "", "warn", "answers with an empty page", "PAIGATE_MODEL_BASE_URL"),
        (200, {"detail": "hello"}, "warn", "answers with something else", "PAIGATE_MODEL_BASE_URL"),
        (401, {}, "fail", "refuses the key (HTTP 401 Unauthorized)", "PAIGATE_MODEL_API_KEY"),
        (403, {}, "fail", "refuses the key", "PAIGATE_MODEL_API_KEY"),
        (302, "", "warn", "sends us to another address", "PAIGATE_MODEL_BASE_URL"),
        (402, {}, "warn", "nothing is left to pay with", "balance"),
        (404, {}, "warn", "lists no models (HTTP 404 Not Found)", "/v1"),
        (429, {}, "warn", "asked too often, or its quota is used up (HTTP 429", "try again"),
        (503, "", "warn", "has a fault of its own at present (HTTP 503 Service Unavailable)", "try again"),
        (299, "", "warn", "(HTTP 299)", "PAIGATE_MODEL_BASE_URL"),
    ],
)
def test_doctor_says_in_plain_words_what_the_models_endpoint_answers(
    tmp_path: Path, free_port: str, status: int, body: object, state: str, words: str, fix: str
) -> None:
    with endpoint(status, body) as address:
        settings = {**TYPED, "PAIGATE_MODEL_BASE_URL": f"{address}/v1"}
        code, checks = examine(tmp_path, PAIGATE_HTTP_PORT=free_port, **settings)
    assert (checks["model"]["state"], code) == (state, int(state == "fail"))
    assert words in checks["model"]["detail"]
    assert fix in checks["model"]["fix"]
    assert bool(fix) is bool(checks["model"]["fix"])
    assert "sk-hidden" not in str(checks)


@pytest.mark.requirement("cli.doctor", "settings.bad-value")
@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"MODEL": "deepseek"}, "PAIGATE_MODEL_API_KEY"),
        ({"MODEL": "telepathy:x"}, "PAIGATE_MODEL"),
        ({"MODEL": "ollama"}, "PAIGATE_MODEL"),
        ({"MODEL": "compatible:m"}, "PAIGATE_MODEL_BASE_URL"),
        ({"MODEL": "compatible:m", "MODEL_BASE_URL": "localhost:8000"}, "PAIGATE_MODEL_BASE_URL"),
    ],
)
def test_doctor_and_the_worker_name_the_setting_of_the_model_that_is_wrong(
    tmp_path: Path, free_port: str, settings: dict[str, str], setting: str
) -> None:
    named = {f"PAIGATE_{name}": value for name, value in settings.items()}
    _, checks = examine(tmp_path, PAIGATE_HTTP_PORT=free_port, **named)
    assert checks["model"]["state"] == "fail"
    assert re.search(r"PAIGATE_\w+", checks["model"]["fix"])[0] == setting
    with pytest.raises(SettingsError, match=rf"^{setting}: "):
        build_workshop(WorkerSettings(**{name.lower(): value for name, value in settings.items()}, data_dir=tmp_path))


@pytest.mark.requirement("cli.doctor")
def test_doctor_prints_foreign_text_as_it_is_on_one_line_and_without_commands_to_the_terminal(
    tmp_path: Path, free_port: str
) -> None:
    with endpoint(200, models(":x:", "[red]x[/]", "\x1b[2J\n")) as address:
        settings = {**TYPED, "PAIGATE_MODEL": "compatible:x", "PAIGATE_MODEL_BASE_URL": f"{address}/v1"}
        warned = paigate(tmp_path, "doctor", PAIGATE_HTTP_PORT=free_port, **settings)
    with endpoint(200, models()) as address:
        settings["PAIGATE_MODEL_BASE_URL"] = f"{address}/v1"
        fine = paigate(tmp_path, "doctor", PAIGATE_HTTP_PORT=free_port, **settings)
    (fix,) = (line for line in warned.stdout.splitlines() if "nearest are" in line)
    assert all(name in fix for name in (":x:", "[red]x[/]", "\\x1b[2J\\n"))
    assert "\x1b" not in warned.stdout
    assert "compatible:x answers" in fine.stdout


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


@pytest.mark.requirement("settings.sources", "settings.secrets")
def test_settings_are_listed_without_their_values_also_where_one_is_wrong(tmp_path: Path) -> None:
    settings = {**TYPED, "PAIGATE_HTTP_PORT": "eighty"}
    listed = paigate(tmp_path, "settings", **settings)
    assert listed.returncode == 0
    assert re.search(r"^  http_port +8750 +PAIGATE_HTTP_PORT$", listed.stdout, re.M)
    assert "sk-hidden" not in listed.stdout
    assert paigate(tmp_path, "settings", "--toml").stdout == (ROOT / "deploy/paigate.toml.example").read_text()


def test_a_settings_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "paigate.toml").write_text("lang = zh\n")
    result = paigate(tmp_path, "settings")
    assert result.returncode == 78
    assert result.stderr.startswith("paigate: paigate.toml: is not valid TOML")
    assert result.stderr.count("\n") == 1


def test_the_link_of_a_place_where_nothing_ran_is_refused_with_the_fix_and_nothing_is_made(tmp_path: Path) -> None:
    result = paigate(tmp_path, "link")
    assert (result.returncode, result.stdout) == (1, "")
    assert "PAIGATE_DATA_DIR" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("cli.up", "web.token")
def test_without_a_terminal_the_link_is_not_printed_and_paigate_link_prints_it(tmp_path: Path, free_port: str) -> None:
    settings = {"PAIGATE_HTTP_PORT": free_port, "PAIGATE_WORKERS": "1"}
    with running([*PAIGATE, "up"], environment(tmp_path, **settings), tmp_path) as up:
        up.expect("Ctrl-C")
        token = (tmp_path / ".local/share/paigate/web-token").read_text()
        result = paigate(tmp_path, "link", **settings)
        assert result.stdout == f"http://127.0.0.1:{free_port}/?token={token}\n"
        assert paigate(tmp_path, "link").stdout == result.stdout
        assert up.said("paigate link")
        assert up.end() == 0
    assert token not in up.text


@pytest.mark.requirement("cli.up")
def test_on_a_terminal_the_link_is_printed(tmp_path: Path, free_port: str) -> None:
    settings = {"PAIGATE_HTTP_PORT": free_port, "PAIGATE_WORKERS": "1"}
    ours, theirs = pty.openpty()
    command = [*PAIGATE, "up"]
    with subprocess.Popen(
        command, env=environment(tmp_path, **settings), cwd=tmp_path, stdout=theirs, stderr=theirs
    ) as up:
        os.close(theirs)
        with os.fdopen(ours, encoding="utf-8") as terminal:
            printed = list(itertools.takewhile(lambda line: "Ctrl-C" not in line, terminal))
            up.send_signal(signal.SIGINT)
            assert up.wait(SECONDS) == 0
    assert any(f"http://127.0.0.1:{free_port}/?token=" in line for line in printed)


def test_the_supervisor_holds_nothing_that_only_other_commands_or_parts_need() -> None:
    script = "import sys, gateway.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert {"rich", "structlog", "telegram", "httpx", "uvicorn", "agent"} & set(loaded.stdout.split()) == set()
