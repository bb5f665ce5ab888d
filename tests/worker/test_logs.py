import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_PROGRAM = """
import logging, structlog
from worker.logs import configure_logging
from worker.settings import WorkerSettings, read_settings
configure_logging(read_settings(WorkerSettings))
log = structlog.get_logger("worker.turn")
log.debug("turn.unseen")
log.info("turn.began", conversation="c1", key="sk-model-secret")
logging.getLogger("httpx").setLevel("INFO")
logging.getLogger("httpx").info("GET https://host/botTOKEN/getMe")
logging.getLogger("anything").warning("a library says %s", "sk-model-secret")
try:
    raise RuntimeError("refused: sk-model-secret")
except RuntimeError:
    log.exception("turn.broke")
"""


def log_of(**settings: str) -> list[str]:
    model = {"PAIGATE_MODEL": "compatible:m", "PAIGATE_MODEL_API_KEY": "sk-model-secret"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **model, **settings}
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=20
    )
    assert result.stdout == ""
    return result.stderr.splitlines()


def test_each_event_is_one_json_line_also_those_of_libraries_and_with_their_traceback() -> None:
    began, library, broke = map(json.loads, log_of())
    assert (began["event"], began["level"], began["logger"]) == ("turn.began", "info", "worker.turn")
    assert library["event"] == "a library says ***"
    assert "RuntimeError: refused: ***" in broke["exception"]


@pytest.mark.requirement("settings.secrets")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_is_in_no_line_nor_a_traceback(form: str) -> None:
    text = "\n".join(log_of(PAIGATE_LOG_FORMAT=form, PAIGATE_LOG_LEVEL="debug"))
    assert "turn.began" in text
    assert "turn.unseen" in text
    assert "RuntimeError" in text
    assert "sk-model-secret" not in text


def test_addresses_that_libraries_log_stay_out_as_they_may_hold_a_token() -> None:
    assert "botTOKEN" not in "\n".join(log_of(PAIGATE_LOG_LEVEL="debug"))


def test_less_important_lines_are_left_out() -> None:
    assert [json.loads(line)["event"] for line in log_of(PAIGATE_LOG_LEVEL="error")] == ["turn.broke"]
