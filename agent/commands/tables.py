"""What programs do, as tables. The blacklist in them is only an aid: the sandbox is the wall."""

from agent.commands.advice import DATABASE, PROCESSES
from agent.commands.verbs import VERBS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READERS = _words("""
    : [ [[ ack ag arch b2sum base32 base64 basename bat batcat bc break cal cat cd cksum clear cloc cmp col
    colordiff column comm compgen continue cut date delta df diff diff3 diffstat dirname dirs du echo egrep eza
    exa exit expand expr factor false fgrep file fmt fold free getconf getent getopt getopts grep history groups hd head
    hexdump hostid hostname id iconv ipcs jobs join jq last less let lexgrog local locale locate logname look ls
    lsattr lsb_release lsblk lscpu lsmod lsof lspci lsusb man md5sum mapfile more namei nl nm nproc numfmt
    objdump od pathchk paste pgrep pidof plocate popd pr printenv printf ps pstree pushd pwd pwdx read readarray
    readelf readlink readonly realpath return rev rg ripgrep scc seq set sha1sum sha224sum sha256sum sha384sum
    sha512sum shasum shift shopt shuf size sleep sort ss stat strings sum tac tail test tokei top tput tr tree
    true tsort tty type typeset declare umask uname unexpand uniq unset uptime users vmstat w wait wc whatis
    whereis which who whoami xxd yes yq zcat zdiff zgrep zipinfo zless bzcat xzcat zstdcat bzgrep xzgrep export
    iostat mpstat netstat sar zcmp env fd fdfind ulimit times apropos info help nvidia-smi sw_vers xmllint htop
    cpuid pcregrep csvlook csvcut
""")
"""They read and print, unless an option says otherwise (`OPTIONS_THAT_WRITE`)."""

OPTIONS_THAT_WRITE: dict[str, frozenset[str]] = {
    program: _words(options)
    for program, options in {
        "sort": "-o --output --compress-program",
        "shuf": "-o --output",
        "tree": "-o",
        "date": "-s --set",
        "yq": "-i --inplace --in-place -s --split-exp",
        "rg": "--pre --hostname-bin",
        "ripgrep": "--pre --hostname-bin",
        "ag": "--pager",
        "ack": "--pager",
        "bat": "--pager",
        "batcat": "--pager",
        "fd": "-x --exec -X --exec-batch",
        "fdfind": "-x --exec -X --exec-batch",
        "less": "-o -O --log-file --LOG-FILE",
        "man": "-P --pager -H --html",
        "xmllint": "-o --output",
        "file": "-C --compile",
        "hostname": "-F --file -b",
        "iconv": "-o --output",
        "mapfile": "-C",
        "readarray": "-C",
        "compgen": "-C -F",
        "xxd": "-r",
        "history": "-w -a -c -d -r -n",
        "ss": "-K --kill",
    }.items()
}
"""Short options count in clusters and with values attached; long ones also when abbreviated."""

WRITERS = _words("""
    cp mv mkdir touch ln link install tee split csplit patch tar zip unzip gzip gunzip bzip2 bunzip2 xz unxz
    zstd unzstd 7z 7za rar unrar cpio ar rsync chmod chown chgrp chattr setfacl truncate mkfifo mknod mktemp
    dos2unix unix2dos rename sponge ed ex vi vim nano emacs fallocate sync rmdir unlink shred dd rm trash
    trash-put pigz lz4 gpg ssh-keygen
""")
"""They change files, and nothing but what their arguments name."""

BUILDERS = _words("""
    make gmake cmake ninja meson bazel gcc g++ cc c++ clang clang++ ld rustc javac java kotlinc scala tsc eslint
    prettier ruff black isort mypy pyright basedpyright flake8 pylint pytest py.test tox nox jest vitest mocha
    ava playwright cypress webpack vite rollup esbuild parcel next nuxt gradle gradlew mvn mvnw sbt ant lein
    rspec rake rails phpunit artisan python node ruby perl php lua Rscript julia ghc stack cabal elixir erl
    swiftc zig dart tsx ts-node django-admin flask uvicorn gunicorn celery alembic coverage sphinx-build mkdocs
    hugo jekyll ctest golangci-lint gofmt rustfmt shellcheck shfmt hadolint yamllint markdownlint black bandit
    jupyter protoc sqlite3 awk sed ffmpeg convert pandoc
""")
"""What developers run every day; it may run code of the project."""

NETWORK = _words("""
    curl wget wget2 aria2c axel http https xh httpie ssh scp sftp sshfs ssh-copy-id mosh autossh nc ncat netcat
    socat telnet ftp lftp tftp ncftp ping ping6 fping traceroute tracepath mtr dig nslookup host drill whois
    nmap masscan arping openvpn wg wg-quick tcpdump w3m lynx links elinks youtube-dl yt-dlp you-get gallery-dl
    hub svn hg bzr cvs mail mailx mutt sendmail msmtp swaks ab wrk hey siege locust k6 iperf iperf3 ngrok
    cloudflared tailscale npx bunx pnpx uvx ansible ansible-playbook ansible-galaxy packer nomad consul vault
    psql mysql mariadb mongo mongosh redis-cli valkey-cli cqlsh clickhouse-client sqlcmd pg_dump pg_restore
    pg_isready mysqldump createdb createuser mongodump mongorestore mysqlimport mosquitto_pub mosquitto_sub
    grpcurl websocat nvm sdk volta fnm asdf mise pyenv rbenv easy_install conan vcpkg bower jspm ntpdate chronyc
    rdate smbclient mount.nfs git-lfs pacman yay emerge hf huggingface-cli ollama kaggle gdown transmission-cli tldr
""")
DOWNLOADERS = _words("ssh curl wget wget2 aria2c axel http https xh lynx w3m fetch ftp scp sftp nc ncat netcat")

_ADMINISTRATOR = "A person must do that on the machine itself; say what is needed and why."
_NO_RIGHTS = "There is no {program} here; run the command without it, or work without what it needs."
_REFUSALS = (
    ("sudo doas su pkexec run0 sudoedit", "asks for the rights of another user, which nobody gets here", _NO_RIGHTS),
    (
        "shutdown reboot halt poweroff telinit",
        "shuts the machine down",
        "Nothing here needs a restart; start only your own program anew.",
    ),
    (
        "mkfs mke2fs mkswap mkdosfs wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard",
        "overwrites a disk",
        "There is no disk to prepare here; write files in the project.",
    ),
    (
        "lvremove vgremove pvremove mdadm cryptsetup zpool hdparm swapoff losetup",
        "changes the machine's disks",
        _ADMINISTRATOR,
    ),
    ("insmod rmmod modprobe kexec", "changes the machine's kernel", _ADMINISTRATOR),
    ("iptables ip6tables nft ufw firewall-cmd", "changes the machine's firewall", _ADMINISTRATOR),
    (
        "userdel groupdel deluser delgroup usermod passwd chpasswd useradd adduser",
        "changes the machine's users",
        _ADMINISTRATOR,
    ),
    ("dropdb dropuser", "drops a database", DATABASE),
    ("killall5", "ends every process", PROCESSES),
)
REFUSED: dict[str, tuple[str, str]] = {
    program: (reason, advice.format(program=program))
    for programs, reason, advice in _REFUSALS
    for program in _words(programs)
}
"""Programs that are refused, with the reason and the advice."""

SERVICES = _words("""
    nginx apache2 httpd caddy traefik haproxy postgres postgresql mysqld mysql mariadbd mariadb redis-server
    redis valkey valkey-server memcached mongod mongodb rabbitmq elasticsearch docker dockerd containerd kubelet
    sshd systemd init cron crond rsyslogd dbus-daemon NetworkManager
""")

SHELLS = _words("bash sh zsh dash ksh mksh ash fish csh tcsh rbash")
INTERPRETERS = _words(
    "python pypy node nodejs deno bun ruby perl php lua luajit Rscript R julia tclsh osascript pwsh powershell tsx"
)

LOADING_VARIABLES = _words("""
    PATH ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH PAGER EDITOR VISUAL BROWSER MANPAGER
    LESSOPEN LESSCLOSE SHELL PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONINSPECT PYTHONUSERBASE
    PYTEST_ADDOPTS PYTEST_PLUGINS NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB GEM_PATH
    JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS GOFLAGS RUSTC
    RUSTC_WRAPPER RUSTFLAGS CARGO_HOME CC CXX LD MAKEFLAGS MFLAGS GNUMAKEFLAGS HOME XDG_CONFIG_HOME
    NPM_CONFIG_PREFIX BAT_PAGER RIPGREP_CONFIG_PATH LUA_INIT PHPRC PHP_INI_SCAN_DIR TERMINFO GCONV_PATH
    RSYNC_RSH TAR_OPTIONS GZIP
""")
LOADING_PREFIXES = ("LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_", "CARGO_TARGET_", "PIP_", "UV_")
_HARMLESS_PREFIXES = (
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_TERMINAL_PROMPT",
    "GIT_MERGE_AUTOEDIT",
    "PIP_NO_",
    "PIP_DISABLE_",
)
_HARMLESS_PROGRAMS = frozenset({"cat", "true", ":", "less"})

ENVIRONMENT_FOR_SHOW = _words("""
    CI DEBUG LANG LC_ALL TZ TERM COLUMNS NO_COLOR FORCE_COLOR NODE_ENV RAILS_ENV APP_ENV VERBOSE LOG_LEVEL
    PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED RUST_BACKTRACE RUST_LOG
""")
"""Variables that change how a program talks, not what it loads or runs."""

KNOWN = READERS | WRITERS | BUILDERS | NETWORK | INTERPRETERS | SHELLS | VERBS.keys() | {"git", "awk", "sed", "find"}
"""Programs that are what their name says: asked for their version, they only tell it."""


def loads_code(variable: str, value: str = "") -> bool:
    """Whether a variable of the environment can make a program run something else."""
    if variable.startswith(_HARMLESS_PREFIXES) or (
        variable.endswith(("PAGER", "EDITOR")) and value in _HARMLESS_PROGRAMS
    ):
        return False
    return variable in LOADING_VARIABLES or variable.startswith(LOADING_PREFIXES)
