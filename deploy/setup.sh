# shellcheck shell=bash
# Shared by deploy/run and deploy/test, which source it from the top of the checkout: the Python environment.

say() { printf '==> %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  fix: %s\n' "$2" >&2
  exit 1
}

# The first Python that is new enough; $PYTHON, when set, is the only one that is tried.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$candidate" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "no Python 3.11, 3.12 or 3.13 was found" "apt install python3 python3-venv, or name one: PYTHON=/path/to/python3.11 $0"
}

# pip of the environment: its own where the system's Python can put one there, else the system's, aimed at it.
pip_install() {
  if [ -x .venv/bin/pip ]; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input "$@"
  else
    "$python" -m pip --python .venv/bin/python install --quiet --disable-pip-version-check --no-input "$@"
  fi
}

make_environment() {
  say "making .venv with $("$python" --version)"
  if "$python" -I -c 'import ensurepip, venv' 2>/dev/null; then
    "$python" -m venv --clear .venv
  elif "$python" -I -c 'import pip, venv' 2>/dev/null; then
    "$python" -m venv --clear --without-pip .venv
  else
    die "this Python can make no virtual environment" "apt install python3-venv"
  fi
}

# Whether the Python of .venv runs, for this user.
has_environment() { .venv/bin/python -I -c '' 2>/dev/null; }

# A set-up writes here; a user who may not is told before anything is begun.
may_set_up() {
  local place
  for place in . .venv; do
    [ ! -e "$place" ] || [ -w "$place" ] && continue
    if [ -L .venv/bin/python ] && ! has_environment; then
      die "$PWD was set up with a Python that this user cannot run: $(readlink -m .venv/bin/python)" \
        "as its owner: rm -r .venv, then PYTHON=/usr/bin/python3 ./deploy/run --help; or use a copy of your own"
    fi
    die "$PWD is not set up for this user, who may not write there" \
      "as its owner: ./deploy/run --help, which sets it up and runs nothing; or use a copy of your own"
  done
}

# What the stamp of a lock file says: where and from what the environment was made.
stamp_of() { printf '%s %s\n' "$PWD" "$(cat "$1" pyproject.toml | sha256sum | cut -d' ' -f1)"; }

# Bring .venv to what a lock file says, and do nothing when it is already there. A stamp is written last, so that a
# set-up that was cut short is done again.
#   set_up deploy/requirements.lock
#   set_up deploy/requirements-dev.lock deploy/requirements.lock    the first holds all of the second
set_up() {
  local lock=$1 held="" stamp="" place="" content=""
  exec 9<deploy
  flock 9 # two set-ups at once would spoil each other
  stamp=.venv/$(basename "$lock").stamp
  place="$PWD"
  content=$(stamp_of "$lock")
  if [ "$(cat "$stamp" 2>/dev/null)" != "$content" ] || ! has_environment; then
    may_set_up
    python=$(find_python)
    if [ "$(cat .venv/place.stamp 2>/dev/null)" != "$place" ] || ! has_environment; then
      make_environment
      printf '%s\n' "$place" >.venv/place.stamp
    fi
    rm -f "$stamp"
    say "installing the packages of $lock (the first time takes a minute)"
    pip_install --require-hashes --only-binary :all: -r "$lock" ||
      die "the packages could not be installed; pip says why above" "see that this machine reaches its package index, then run $0 again"
    say "installing paigate"
    pip_install --no-deps --no-build-isolation --no-index --editable .
    for held in "$@"; do
      stamp_of "$held" >".venv/$(basename "$held").stamp"
    done
  fi
  exec 9<&-
}
