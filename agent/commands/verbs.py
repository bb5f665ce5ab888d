"""Programs whose first words say what they do: `npm install`, `docker compose down`."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["read", "write", "network", "destructive"]


@dataclass(frozen=True, slots=True)
class Verbs:
    """What the verbs of one program do; `other` is for those not listed, `bare` for none at all."""

    read: frozenset[str]
    write: frozenset[str]
    network: frozenset[str]
    destructive: frozenset[str]
    other: Level
    bare: Level
    values: frozenset[str]
    """Options before the verb that take the next word as their value."""

    def level(self, verbs: tuple[str, ...]) -> Level:
        """The level of the first two words that are no options: both together, or else the first."""
        for verb in (" ".join(verbs[:2]), *verbs[:1]):
            for level, listed in self._listed():
                if verb in listed:
                    return level
        return self.other if verbs else self.bare

    def _listed(self) -> tuple[tuple[Level, frozenset[str]], ...]:
        return (
            ("destructive", self.destructive),
            ("network", self.network),
            ("write", self.write),
            ("read", self.read),
        )


def verbs(
    *,
    read: str = "",
    write: str = "",
    network: str = "",
    destructive: str = "",
    other: Level = "write",
    bare: Level = "read",
    values: str = "",
) -> Verbs:
    """Verbs between blanks; two that belong together have a plus between them."""
    return Verbs(
        read=_listed(read),
        write=_listed(write),
        network=_listed(network),
        destructive=_listed(destructive),
        other=other,
        bare=bare,
        values=_listed(values),
    )


def _listed(text: str) -> frozenset[str]:
    return frozenset(word.replace("+", " ") for word in text.split())


_NODE_NETWORK = (
    "install i in ins inst isntall ci it cit add a update up upgrade outdated audit publish view v info show search "
    "login adduser logout whoami init create innit dlx dist-tag access owner team token star deprecate ping doctor "
    "exec x install-test install-ci-test import setup self-update fetch env"
)
_NODE_WRITE = "config+set config+delete config+edit cache+clean cache+clear pkg+set pkg+delete"
_NODE_READ = "ls list la ll root prefix bin help explain why fund query config+get config+list config+ls pkg+get get"
_CONTAINER_DESTRUCTIVE = (
    "stop kill rm rmi restart pause down prune system+prune volume+rm volume+remove volume+prune image+rm image+prune "
    "image+remove container+stop container+kill container+rm container+prune container+restart network+rm "
    "network+prune builder+prune compose+down compose+stop compose+kill compose+rm compose+restart compose+pause "
    "service+rm stack+rm swarm+leave node+rm machine+rm machine+stop pod+rm pod+stop"
)
_CONTAINER_READ = (
    "ps images logs inspect version info stats top port diff history events container+ls image+ls volume+ls network+ls "
    "container+inspect image+inspect volume+inspect network+inspect compose+ps compose+logs compose+config compose+ls "
    "compose+images compose+top compose+version context+ls system+df system+info container+list container+logs"
)
_CONTAINERS = verbs(
    read=_CONTAINER_READ,
    destructive=_CONTAINER_DESTRUCTIVE,
    other="network",
    values="-H --host -c --context --config -l --log-level -f --file -p --project-name --profile --env-file",
)
_COMPOSE = verbs(
    read="ps logs config ls images top version port events",
    destructive="down stop kill rm restart pause",
    other="network",
    values="-f --file -p --project-name --profile --env-file --project-directory",
)
_CLOUD = verbs(other="network", bare="read")
_SYSTEM_PACKAGES = verbs(
    read="list search show policy depends rdepends info files which deps leaves config cat provides",
    other="network",
    values="-o -c -t",
)
_PIP = verbs(
    read="list show freeze check inspect debug help cache+dir cache+list cache+info config+list config+get completion",
    write="uninstall cache config hash",
    other="network",
    values="--log --proxy --timeout --python --cache-dir",
)
_NODE = verbs(
    read=_NODE_READ,
    write=_NODE_WRITE,
    network=_NODE_NETWORK,
    destructive="unpublish",
    values="--prefix -C --cwd --dir -F --filter -w --workspace --registry --loglevel --cache",
)
_YARN = verbs(read=_NODE_READ, network=f"{_NODE_NETWORK} npm set", bare="network", values="--cwd")
_KUBECTL = verbs(
    read="config+view config+get-contexts config+current-context help completion explain",
    write="config",
    destructive="delete drain cordon evict rollout+restart",
    other="network",
    values="-n --namespace --context --kubeconfig --cluster --user -s --server",
)

VERBS: dict[str, Verbs] = {
    "pip": _PIP,
    "pip3": _PIP,
    "pipx": verbs(read="list environment", other="network"),
    "uv": verbs(
        read="version tree help pip+list pip+show pip+freeze pip+check pip+tree python+list tool+list cache+dir",
        write="cache format",
        other="network",
        values="--directory --project --python -p --config-file --cache-dir --color",
    ),
    "poetry": verbs(
        read="show check version about list env+info env+list search",
        write="config build shell run",
        other="network",
        values="-C --directory -P --project",
    ),
    "pipenv": verbs(read="graph check verify", write="run shell", other="network", bare="read"),
    "pdm": verbs(read="list info show", write="run build config", other="network"),
    "hatch": verbs(read="status version", write="build run fmt", other="network"),
    "conda": verbs(read="list info", write="activate deactivate run config", other="network", values="-n -p"),
    "mamba": verbs(read="list info", write="activate deactivate run config", other="network", values="-n -p"),
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _YARN,
    "bun": verbs(network=f"{_NODE_NETWORK} remove rm link", read="pm+ls pm+bin help", other="write"),
    "deno": verbs(
        read="info doc help types", write="fmt lint check test task bench compile run", other="network", bare="write"
    ),
    "cargo": verbs(
        read="tree metadata pkgid locate-project verify-project read-manifest version help config+get",
        network="install add update fetch publish search login logout owner vendor generate-lockfile info upgrade",
        destructive="yank",
        values="-C --config -Z --color --manifest-path",
    ),
    "rustup": verbs(
        read="show which doc help toolchain+list target+list component+list", write="default override", other="network"
    ),
    "go": verbs(
        read="version env list doc help mod+graph mod+why mod+verify",
        network="get install mod+download mod+tidy mod+vendor work+sync telemetry",
        values="-C",
    ),
    "gem": verbs(
        read="list contents environment which help specification", write="uninstall build pristine", other="network"
    ),
    "bundle": verbs(
        read="list show info check platform config+list", write="exec config", other="network", bare="network"
    ),
    "composer": verbs(
        read="show info licenses validate depends why prohibits why-not status check-platform-reqs about",
        write="run run-script exec dump-autoload dumpautoload test config",
        other="network",
        values="-d --working-dir",
    ),
    "dotnet": verbs(
        read=" list",
        network="restore add tool nuget workload new",
        other="write",
    ),
    "mix": verbs(
        read="help deps.tree", network="deps.get deps.update hex.publish archive.install local.hex", other="write"
    ),
    "pod": verbs(read="list env", other="network"),
    "flutter": verbs(read="doctor devices", network="pub upgrade precache", other="write"),
    "dart": verbs(read="info", network="pub", other="write"),
    "swift": verbs(network="package", other="write"),
    "apt": _SYSTEM_PACKAGES,
    "apt-get": _SYSTEM_PACKAGES,
    "aptitude": _SYSTEM_PACKAGES,
    "apt-cache": verbs(other="read"),
    "yum": _SYSTEM_PACKAGES,
    "dnf": _SYSTEM_PACKAGES,
    "zypper": _SYSTEM_PACKAGES,
    "apk": verbs(read="info list search policy", other="network"),
    "brew": verbs(read="list ls info config deps leaves uses desc", other="network"),
    "port": verbs(read="installed list info contents", other="network"),
    "snap": verbs(read="list info services", destructive="stop restart disable", other="network"),
    "flatpak": verbs(read="list info", other="network"),
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "nerdctl": _CONTAINERS,
    "docker-compose": _COMPOSE,
    "podman-compose": _COMPOSE,
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "helm": verbs(
        read="version env help lint template",
        write="create package",
        destructive="uninstall delete rollback",
        other="network",
    ),
    "terraform": verbs(
        read="version validate show output graph providers help",
        write="fmt",
        destructive="destroy",
        other="network",
        values="-chdir",
    ),
    "tofu": verbs(read="version validate show output graph help", write="fmt", destructive="destroy", other="network"),
    "pulumi": verbs(read="version about", destructive="destroy stack+rm", other="network"),
    "vagrant": verbs(read="status version", destructive="destroy halt suspend reload", other="network"),
    "systemctl": verbs(
        read="status show list-units list-unit-files list-timers list-sockets list-jobs is-active is-enabled is-failed "
        "is-system-running cat get-default list-dependencies show-environment help",
        destructive="stop restart try-restart reload-or-restart try-reload-or-restart condrestart kill disable mask "
        "poweroff reboot halt kexec suspend hibernate hybrid-sleep isolate emergency rescue default soft-reboot "
        "switch-root exit clean",
        values="-t --type -p --property -H --host -M --machine -n --lines -s --signal",
    ),
    "supervisorctl": verbs(
        read="status avail pid tail help",
        destructive="stop restart shutdown reload remove signal",
        values="-c -s -u -p",
    ),
    "pm2": verbs(read="list ls status show describe logs jlist", destructive="stop delete del kill restart reload"),
    "launchctl": verbs(
        read="list print", destructive="stop unload remove bootout kill kickstart disable reboot", other="write"
    ),
    "initctl": verbs(read="list status", destructive="stop restart"),
    "pg_ctl": verbs(read="status", destructive="stop restart kill", values="-D -l -m -o -p -t"),
    "pg_ctlcluster": verbs(destructive="stop restart"),
    "apachectl": verbs(read="configtest status", destructive="stop restart graceful-stop"),
    "gh": verbs(
        read="version help auth+status completion config+get config+list alias+list",
        write="config+set alias+set",
        destructive="repo+delete release+delete secret+delete repo+archive ssh-key+delete",
        other="network",
        values="-R --repo",
    ),
    "glab": verbs(destructive="repo+delete release+delete", other="network"),
    "pre-commit": verbs(read="validate-config help", network="install-hooks autoupdate try-repo", values="-c"),
    "twine": verbs(read="check", other="network"),
    "openssl": verbs(read="version dgst", network="s_client ocsp s_time s_server"),
    "ip": verbs(
        read="addr+show a+show link+show route+show r+show addr a link l route r neigh rule", values="-f -family -n"
    ),
    "nix": verbs(read="show-config", other="network"),
    "mvn": verbs(network="deploy release:perform release:prepare dependency:get dependency:resolve"),
    "mvnw": verbs(network="deploy release:perform release:prepare dependency:get dependency:resolve"),
    "gradle": verbs(network="publish"),
    "gradlew": verbs(network="publish"),
    "playwright": verbs(network="install install-deps"),
    "rails": verbs(destructive="db:drop db:reset db:purge", bare="write"),
    "rake": verbs(destructive="db:drop db:reset db:purge", bare="write"),
    "mysqladmin": verbs(destructive="drop shutdown kill", other="network", values="-u -h -P"),
    "rabbitmqctl": verbs(destructive="stop stop_app reset force_reset shutdown delete_queue"),
    "aws": _CLOUD,
    "gcloud": _CLOUD,
    "gsutil": _CLOUD,
    "az": _CLOUD,
    "doctl": _CLOUD,
    "heroku": _CLOUD,
    "fly": _CLOUD,
    "flyctl": _CLOUD,
    "vercel": _CLOUD,
    "netlify": _CLOUD,
    "wrangler": _CLOUD,
    "firebase": _CLOUD,
    "rclone": _CLOUD,
    "s3cmd": _CLOUD,
}
"""By program. `apt` and its like are `network` also to remove: they run scripts of packages and need the system."""
