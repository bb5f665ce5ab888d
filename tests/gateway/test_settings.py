import os
import stat
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from gateway.settings import GatewaySettings, Settings, config_path, load_settings
from gateway.web_token import web_token
from worker.settings import SettingsError, WorkerSettings, process_environment, read_settings

SECRETS = {
    "PAIGATE_MODEL_API_KEY": "sk-model-secret",
    "PAIGATE_TELEGRAM_TOKEN": "12345:chat-secret",
    "PAIGATE_REDIS_URL": "redis://user:redis-secret@127.0.0.1:6399/2",
}


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
def test_an_unknown_variable_is_refused_by_name_with_the_likely_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIGATE_TELEGRAM_TOKN", "12345:chat-secret")
    assert problems_of() == ("unknown setting PAIGATE_TELEGRAM_TOKN; did you mean PAIGATE_TELEGRAM_TOKEN?",)


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


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIGATE_MODEL_API_KEY", "")
    monkeypatch.setenv("PAIGATE_HTTP_PORT", "")
    assert load_settings().model_api_key is None
    assert load_settings().http_port == 8750


@pytest.mark.requirement("settings.secrets")
def test_secrets_are_in_no_listing_and_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    shown = f"{settings} {settings!r} {settings.model_dump()} {settings.model_dump_json()}"
    monkeypatch.setenv("PAIGATE_REDIS_URL", "http://user:redis-secret@h")
    monkeypatch.setenv("PAIGATE_HTTP_PORT", "bad")
    shown += " ".join(problems_of())
    assert "-secret" not in shown


def test_every_secret_is_known_for_masking_also_a_password_within_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    assert set(load_settings().secrets()) == {*SECRETS.values(), "redis-secret"}


@pytest.mark.requirement("settings.least")
def test_the_gateway_gets_no_model_key_and_the_worker_no_chat_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
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
