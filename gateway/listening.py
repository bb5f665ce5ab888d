"""Whether the web chat can listen where it is told to."""

import errno
import ipaddress
import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListenProblem:
    """Why it cannot, and what an operator should do."""

    detail: str
    fix: str

    def __str__(self) -> str:
        return f"{self.detail}: {self.fix}"


def listen_problem(host: str, port: int) -> ListenProblem | None:
    """Try to take the port, and let it go again; None when that works."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror as error:
        return ListenProblem(f"the host name {host!r} is not known ({error.strerror})", "mend PAIGATE_HTTP_HOST")
    except OSError as error:
        return _explain(host, port, error)
    return None


def is_local(host: str) -> bool:
    """Whether what listens on this host can be reached from this machine alone; an unknown host cannot be at all."""
    try:
        places = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return True
    return all(ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback for *_, place in places)


def _explain(host: str, port: int, error: OSError) -> ListenProblem:
    match error.errno:
        case errno.EADDRINUSE:
            fix = f"end it (ss -ltnp 'sport = :{port}' shows it), or set PAIGATE_HTTP_PORT to a free port"
            return ListenProblem(f"port {port} of {host} is taken by another program", fix)
        case errno.EACCES:
            return ListenProblem(f"port {port} is not for this user", "set PAIGATE_HTTP_PORT to 1024 or more")
        case errno.EADDRNOTAVAIL:
            return ListenProblem(f"{host} is no address of this machine", "mend PAIGATE_HTTP_HOST")
        case _:
            return ListenProblem(f"cannot listen on {host} port {port} ({error.strerror})", "set another")
