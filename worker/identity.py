"""Who a process is, so that others can tell whether it still lives."""

import os
import socket
from functools import cache
from pathlib import Path


def this_process() -> str:
    """Name this process by host, pid, and when it started, so that a reused pid is not taken for it."""
    pid = os.getpid()
    return f"{this_host()}/{pid}/{started_at(pid)}"


@cache
def this_host() -> str:
    """Name what gives pids their meaning: the host since its boot, and the pid namespace of this process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    return f"{socket.gethostname()}-{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"


def is_dead(holder: str) -> bool:
    """Whether a holder surely is no more: a process of this host that has ended."""
    host, _, process = holder.partition("/")
    pid, _, started = process.partition("/")
    return bool(pid) and host == this_host() and started_at(int(pid)) != started


def local_pid(holder: str) -> int | None:
    """The pid of a holder that is another living process of this host."""
    host, _, process = holder.partition("/")
    pid, _, started = process.partition("/")
    if not pid or host != this_host() or started_at(int(pid)) != started or int(pid) == os.getpid():
        return None
    return int(pid)


def started_at(pid: int) -> str:
    """When a process started, in clock ticks since boot, or nothing; zombies count as ended (proc(5), fields 3, 22)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    values = stat.rpartition(")")[2].split()
    return "" if values[0] == "Z" else values[19]
