import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.providers import PROVIDERS, resolve
from gateway.listening import is_local
from gateway.settings import GatewaySettings, Settings, config_path, load_settings
from gateway.settings_list import table, toml
from gateway.up import link, summary
from gateway.web_token import web_token
from worker.settings import EXAMPLE_MODEL, SettingsError, WorkerSettings, process_environment, read_settings

ROOT = Path(__file__).parents[2]
SECRETS = {
    "PAIGATE_MODEL_API_KEY": "sk-model-secret",
    "PAIGATE_TELEGRAM_TOKEN": "12345:chat-secret",
    "PAIGATE_REDIS_URL": "redis://user:redis-secret@127.0.0.1:6399/2",
}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "PAIGATE_MODEL": "kimi"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("PAIGATE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def problems_of(config: Path | None = None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(config)
    return caught.value.problems


def test_without_any_setting_everything_has_a_safe_default(tmp_path: Path) -> None:
    settings = load_settings()
    assert (settings.http_host, settings.http_port) == ("127.0.0.1", 8750)
    assert settings.model is None
    assert settings.telegram_allow == frozenset()
    assert settings.data_dir == tmp_path / "home/.local/share/paigate"


@pytest.mark.parametrize("home", ["", None])
def test_without_a_home_variable_the_users_own_home_is_taken(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.delenv("HOME") if home is None else monkeypatch.setenv("HOME", home)
    assert load_settings().data_dir.parts[-3:] == (".local", "share", "paigate")
    assert load_settings().data_dir.parts[1] != ".local"


def test_the_data_directory_follows_xdg_data_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")
    assert load_settings().data_dir == Path("/srv/data/paigate")


def test_a_tilde_and_a_relative_path_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PAIGATE_DATA_DIR", "~/here")
    assert load_settings().data_dir == tmp_path / "home/here"
    monkeypatch.setenv("PAIGATE_DATA_DIR", "there")
    assert load_settings().data_dir == tmp_path / "there"


@pytest.mark.requirement("settings.sources")
def test_the_file_is_read_and_the_environment_wins_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("paigate.toml").write_text('http_port = 9000\nlang = "zh"\ntelegram_allow = [123, "456"]\n')
    monkeypatch.setenv("PAIGATE_HTTP_PORT", "9001")
    settings = load_settings()
    assert (settings.http_port, settings.lang) == (9001, "zh")
    assert settings.telegram_allow == {"123", "456"}


@pytest.mark.requirement("settings.sources")
def test_the_file_is_the_named_one_then_the_variables_then_here_then_the_data_directorys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert config_path() is None
    files = [tmp_path / "named.toml", tmp_path / "variable.toml", Path("paigate.toml"), tmp_path / "data/paigate.toml"]
    (tmp_path / "data").mkdir()
    for file in files:
        file.write_text("")
    monkeypatch.setenv("PAIGATE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PAIGATE_CONFIG", str(files[1]))
    assert config_path(files[0]) == files[0]
    assert config_path() == files[1]
    monkeypatch.delenv("PAIGATE_CONFIG")
    assert config_path() == files[2]
    files[2].unlink()
    assert config_path() == files[3]


def test_a_named_file_that_is_not_there_is_told_by_the_name_it_was_given() -> None:
    assert problems_of(Path("nowhere.toml")) == ("--config: there is no file nowhere.toml",)


def test_a_file_that_is_no_toml_is_told_with_the_line() -> None:
    Path("paigate.toml").write_text('lang = "zh"\nmodel_api_key = hidden-value\n')
    (problem,) = problems_of()
    assert problem.startswith("paigate.toml: is not valid TOML")
    assert "line 2" in problem
    assert "hidden-value" not in problem


@pytest.mark.requirement("settings.unknown")
def test_an_unknown_key_of_the_file_is_refused_by_name_with_the_likely_one() -> None:
    Path("paigate.toml").write_text("http_prt = 1\nzzz = 2\n")
    assert problems_of() == (
        "paigate.toml: unknown setting http_prt; did you mean http_port?",
        "paigate.toml: unknown setting zzz",
    )


@pytest.mark.requirement("settings.unknown")
@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("PAIGATE_TELEGRAM_TOKN", "PAIGATE_TELEGRAM_TOKEN"),
        ("PAIGATE_telegram_token", "PAIGATE_TELEGRAM_TOKEN"),
        ("paigate_http_port", "PAIGATE_HTTP_PORT"),
        ("PAIGATE_CONFG", "PAIGATE_CONFIG"),
        ("PAIGATE_FOO", None),
        ("PAIGATE_GATE", None),
    ],
)
def test_an_unknown_variable_is_refused_by_name_with_the_likely_one(
    monkeypatch: pytest.MonkeyPatch, name: str, likely: str | None
) -> None:
    monkeypatch.setenv(name, "12345:chat-secret")
    assert problems_of() == (f"unknown setting {name}" + (f"; did you mean {likely}?" if likely else ""),)


@pytest.mark.requirement("settings.unknown")
@pytest.mark.parametrize("key", ["PAIGATE_HTTP_PORT", "HTTP_PORT", "http-port"])
def test_a_key_of_the_file_that_is_written_like_a_variable_is_refused_with_the_right_form(key: str) -> None:
    Path("paigate.toml").write_text(f"{key} = 1\n")
    assert problems_of() == (f"paigate.toml: unknown setting {key}; did you mean http_port?",)


@pytest.mark.requirement("settings.bad-value")
@pytest.mark.parametrize("name", ["model_api_key", "model_base_url"])
def test_a_key_or_endpoint_without_a_model_is_one_line_and_not_the_demo(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    Path("paigate.toml").write_text(f'{name} = "https://h/v1"\n')
    assert problems_of() == (f"{name} is set, but model is not: set it as well, such as {EXAMPLE_MODEL}",)
    variable = f"PAIGATE_{name.upper()}"
    monkeypatch.setenv(variable, "https://h/v1")
    assert problems_of() == (f"{variable} is set, but PAIGATE_MODEL is not: set it as well, such as {EXAMPLE_MODEL}",)


@pytest.mark.requirement("settings.bad-value", "model.fallback")
def test_a_fallback_without_a_model_is_one_line_and_not_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIGATE_FALLBACK_MODEL", "kimi")
    (problem,) = problems_of()
    assert problem.startswith("PAIGATE_FALLBACK_MODEL is set, but PAIGATE_MODEL is not")


@pytest.mark.requirement("settings.bad-value", "settings.secrets")
@pytest.mark.parametrize("key", ["sk-two words", "“sk-quoted”", "sk-\x07"])
def test_a_key_that_no_request_can_carry_is_one_line_without_the_key(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("PAIGATE_MODEL", "kimi")
    monkeypatch.setenv("PAIGATE_MODEL_API_KEY", key)
    (problem,) = problems_of()
    assert problem.startswith("PAIGATE_MODEL_API_KEY: ")
    assert "sk-" not in problem


def test_blanks_and_line_ends_around_a_pasted_value_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIGATE_MODEL", " kimi\n")
    monkeypatch.setenv("PAIGATE_TELEGRAM_TOKEN", "12345:x\n")
    token = load_settings().telegram_token
    assert (load_settings().model, token and token.get_secret_value()) == ("kimi", "12345:x")


@pytest.mark.requirement("settings.bad-value")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http_port", "eighty"),
        ("http_port", "0"),
        ("http_port", "70000"),
        ("lang", "fr"),
        ("redis_url", "http://127.0.0.1"),
        ("telegram_allow", "@bob"),
        ("workers", "0"),
        ("sandbox_uid", "0"),
        ("approval_hours", "-1"),
        ("log_level", "loud"),
        ("data_dir", "/usr/local/paigate"),
        ("http_names", "https://box.example"),
        ("budget_turn_tokens", "9" * 400),
        ("budget_turn_tokens", "10"),
        ("budget_turn_steps", "9" * 4000),
        ("budget_turn_steps", "0"),
        ("budget_turn_seconds", "inf"),
        ("budget_turn_seconds", "0.0000001"),
        ("grant_days", "-1"),
        ("grant_days", "1000"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_key_where_it_was_set(
    monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    Path("paigate.toml").write_text(f'{key} = "{value}"\n')
    (in_file,) = problems_of()
    assert in_file.startswith(f"{key}: ")
    monkeypatch.setenv(f"PAIGATE_{key.upper()}", value)
    (in_environment,) = problems_of()
    assert in_environment.startswith(f"PAIGATE_{key.upper()}: ")
    assert "\n" not in in_file + in_environment


def test_what_is_empty_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("paigate.toml").write_text('model = ""\n')
    monkeypatch.setenv("PAIGATE_MODEL_API_KEY", "")
    monkeypatch.setenv("PAIGATE_HTTP_PORT", "")
    assert (load_settings().model, load_settings().model_api_key) == (None, None)
    assert load_settings().http_port == 8750


@pytest.mark.requirement("settings.secrets")
@pytest.mark.usefixtures("secrets")
def test_secrets_are_in_no_listing_and_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("paigate.toml").write_text('telegram_token = "12345:file-secret"\n')
    settings = load_settings()
    shown = f"{settings} {settings!r} {settings.model_dump()} {settings.model_dump_json()} {table(None)} {toml()}"
    monkeypatch.setenv("PAIGATE_REDIS_URL", "http://user:redis-secret@h")
    monkeypatch.setenv("PAIGATE_HTTP_PORT", "bad")
    shown += " ".join(problems_of())
    assert "-secret" not in shown


@pytest.mark.usefixtures("secrets")
def test_every_secret_is_known_for_masking_also_a_password_within_an_address() -> None:
    assert set(load_settings().secrets()) == {*SECRETS.values(), "redis-secret"}


@pytest.mark.requirement("settings.least")
@pytest.mark.usefixtures("secrets")
def test_the_gateway_gets_no_model_key_and_the_worker_no_chat_token() -> None:
    settings = load_settings()
    gateway = process_environment(settings, GatewaySettings, os.environ)
    worker = process_environment(settings, WorkerSettings, os.environ)
    assert "sk-model-secret" not in " ".join(gateway.values())
    assert "12345:chat-secret" not in " ".join(worker.values())
    assert "12345:chat-secret" in gateway.values()
    assert "sk-model-secret" in worker.values()


@pytest.mark.requirement("settings.least")
def test_what_is_exported_in_the_operators_shell_reaches_no_process() -> None:
    exported = {"PATH": "/bin", "LC_ALL": "C", "https_proxy": "p", "AWS_SECRET_ACCESS_KEY": "k", "PAIGATE_OTHER": "o"}
    environment = process_environment(load_settings(), WorkerSettings, exported)
    assert {name: environment.get(name) for name in exported} == {
        "PATH": "/bin", "LC_ALL": "C", "https_proxy": "p", "AWS_SECRET_ACCESS_KEY": None, "PAIGATE_OTHER": None,
    }  # fmt: skip


def test_a_process_reads_from_its_environment_what_the_command_line_read(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("paigate.toml").write_text('telegram_allow = "7,8"\nlang = "en"\nmodel = "kimi:k2"\napproval_hours = 1.5\n')
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    for settings_class in (GatewaySettings, WorkerSettings):
        environment = process_environment(settings, settings_class, {})
        with monkeypatch.context() as inner:
            for name in SECRETS:
                inner.delenv(name)
            for name, value in environment.items():
                inner.setenv(name, value)
            read = read_settings(settings_class)
        assert {name: getattr(read, name) for name in settings_class.model_fields} == {
            name: getattr(settings, name) for name in settings_class.model_fields
        }


def test_the_redis_in_use_is_the_embedded_one_unless_another_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIGATE_DATA_DIR", "/srv/my data")
    assert load_settings().redis_address == "unix:///srv/my%20data/run/valkey.sock"
    monkeypatch.setenv("PAIGATE_REDIS_URL", SECRETS["PAIGATE_REDIS_URL"])
    assert load_settings().redis_address == SECRETS["PAIGATE_REDIS_URL"]


@pytest.mark.requirement("web.loopback")
@pytest.mark.parametrize(
    ("host", "address"),
    [
        (None, "http://127.0.0.1:8750"),
        (str(IPv4Address(0)), "http://127.0.0.1:8750"),
        ("::", "http://[::1]:8750"),
        ("chat.example", "http://chat.example:8750"),
    ],
)
def test_the_printed_address_is_one_that_this_machine_can_open(host: str | None, address: str) -> None:
    assert (Settings() if host is None else Settings(http_host=host)).web_address == address


def test_the_web_token_is_made_once_even_by_many_at_once_and_is_ours_alone(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(web_token, [tmp_path] * 8))
    assert tokens == {web_token(tmp_path)}
    assert len(tokens.pop()) >= 32
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]


@pytest.mark.usefixtures("secrets")
def test_the_list_has_each_setting_with_its_default_meaning_and_where_it_is_set() -> None:
    Path("paigate.toml").write_text('lang = "zh"\nlog_level = ""\nhttp_port = 9000\n')
    lines = table(None).splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ") and line[2] != " "}
    assert rows.keys() == {"NAME", *Settings.model_fields}
    assert rows["http_port"] == ["8750", "paigate.toml"]
    assert rows["lang"] == ["auto", "paigate.toml"]
    assert rows["log_level"] == ["info"]
    assert rows["model_api_key"] == ["-", "PAIGATE_MODEL_API_KEY"]
    for name in Settings.model_fields:
        (number,) = (number for number, line in enumerate(lines) if line.split()[:1] == [name])
        assert lines[number + 1].startswith(" " * 20), name
    assert max(map(len, lines)) <= 120


def test_the_example_file_is_up_to_date_and_says_nothing_until_a_comment_sign_is_taken_away() -> None:
    example = ROOT / "deploy/paigate.toml.example"
    assert example.read_text() == toml(), "paigate settings --toml > deploy/paigate.toml.example"
    Path("paigate.toml").write_text(toml())
    assert load_settings() == Settings()


def test_what_the_example_file_shows_can_be_used_as_it_stands() -> None:
    settings = "|".join(Settings.model_fields)
    lines = re.findall(rf"^# ((?:{settings}) = .*)", toml(), re.M)
    assert len(lines) == len(Settings.model_fields)
    Path("paigate.toml").write_text("\n".join(lines))
    assert load_settings().telegram_allow == {"12345", "67890"}


def test_one_model_is_named_in_all_examples_and_it_exists() -> None:
    assert resolve(EXAMPLE_MODEL, base_url=None, api_key="k").facts in PROVIDERS["deepseek"].models
    places = [*(ROOT / "gateway").rglob("*.py"), *(ROOT / "worker").rglob("*.py"), *(ROOT / "deploy").iterdir()]
    texts = [path.read_text() for path in [*places, ROOT / "README.md"] if path.is_file()]
    assert {name for text in texts for name in re.findall(r"deepseek:[\w-]+", text)} == {EXAMPLE_MODEL}


@pytest.mark.requirement("web.loopback")
@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("localhost", True),
        ("::1", True),
        (str(IPv4Address(0)), False),
        ("::", False),
        ("192.0.2.1", False),
    ],
)
def test_a_web_chat_that_others_can_reach_is_warned_of_in_one_line(tmp_path: Path, host: str, local: bool) -> None:
    said = summary(Settings(http_host=host, data_dir=tmp_path), show_link=False).splitlines()
    warnings = [line for line in said if line.startswith("  warning   ")]
    assert is_local(host) is local
    assert len(warnings) == int(not local)
    assert all("plain HTTP" in line and "PAIGATE_HTTP_HOST" in line for line in warnings)


@pytest.mark.requirement("cli.up")
def test_what_answers_and_which_limits_a_task_has_is_said_without_a_key(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        model=EXAMPLE_MODEL,
        model_api_key=SecretStr("first-key"),
        fallback_model="kimi:kimi-k2.6",
        fallback_api_key=SecretStr("second-key"),
        budget_turn_cost="5 CNY",
        budget_turn_steps=100,
    )
    said = summary(settings, show_link=False)
    begin = said.index("  model     ")
    assert said[begin:].splitlines()[:3] == [
        f"  model     {EXAMPLE_MODEL}",
        "  fallback  kimi:kimi-k2.6",
        "  limits    each task: cost, steps",
    ]
    assert "-key" not in said


@pytest.mark.requirement("cli.up")
def test_without_a_fallback_and_limits_nothing_is_said_of_them(tmp_path: Path) -> None:
    said = summary(Settings(data_dir=tmp_path), show_link=False)
    assert "  model     DEMO" in said
    assert "  fallback  " not in said
    assert "  limits    " not in said


def test_the_link_is_said_only_where_it_is_asked_for(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "a b")
    settings.data_dir.mkdir(mode=0o700)
    assert link(settings) in summary(settings, show_link=True)
    quiet = summary(settings, show_link=False)
    assert web_token(settings.data_dir) not in quiet
    program = Path(sys.executable).with_name("paigate")
    assert f"PAIGATE_DATA_DIR='{settings.data_dir}' {program} link" in quiet
