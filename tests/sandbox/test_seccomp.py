import errno
import socket
import struct

import pytest

from agent.sandboxes.bubblewrap.seccomp import AUDIT_ARCHITECTURES, PERSONALITY, REFUSED, SOCKET, seccomp_filter

ALLOWED = 0x7FFF0000
KILLED = 0x80000000
FAILED = 0x00050000
READ = {"x86_64": 0, "aarch64": 63}
EXECVE = {"x86_64": 59, "aarch64": 221}

machines = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Interpret the program as the kernel does (only the instructions that it uses)."""
    six = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("IIQ6Q", number, architecture or AUDIT_ARCHITECTURES[machine], 0, *six)
    steps = list(struct.iter_unpack("HBBI", seccomp_filter(machine)))
    accumulator = position = 0
    while True:
        code, then, otherwise, value = steps[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("I", data, value)
        elif code == 0x15:
            position += then if accumulator == value else otherwise
        elif code == 0x35:
            position += then if accumulator >= value else otherwise
        else:
            assert code == 0x06
            return value


@machines
@pytest.mark.requirement("sandbox.walls")
def test_ordinary_calls_pass(machine: str) -> None:
    assert {verdict(machine, table[machine]) for table in (READ, EXECVE)} == {ALLOWED}


@machines
@pytest.mark.requirement("sandbox.walls")
def test_every_refused_call_fails_with_eperm(machine: str) -> None:
    column = list(AUDIT_ARCHITECTURES).index(machine)

    for name, numbers in REFUSED.items():
        assert verdict(machine, numbers[column]) == FAILED | errno.EPERM, name


@machines
@pytest.mark.requirement("sandbox.network")
def test_only_unix_and_ip_sockets_can_be_made(machine: str) -> None:
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        assert verdict(machine, SOCKET[machine], family) == ALLOWED
    for family in (socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, 38):
        assert verdict(machine, SOCKET[machine], family) == FAILED | errno.EAFNOSUPPORT


@machines
@pytest.mark.requirement("sandbox.network")
def test_multipath_tcp_is_refused_for_every_family(machine: str) -> None:
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM | socket.SOCK_CLOEXEC):
            assert verdict(machine, SOCKET[machine], family, kind, 262) == FAILED | errno.EPROTONOSUPPORT
            assert verdict(machine, SOCKET[machine], family, kind, socket.IPPROTO_TCP) == ALLOWED


@machines
@pytest.mark.requirement("sandbox.walls")
def test_only_the_ordinary_personality_can_be_taken_on(machine: str) -> None:
    for ordinary in (0, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF):  # the kernel sees 32 bits of it
        assert verdict(machine, PERSONALITY[machine], ordinary) == ALLOWED
    for weaker in (0x0040000, 0x0400000, 0x0100000, 8):  # no randomization, executable data, mapping of page 0, 32 bits
        assert verdict(machine, PERSONALITY[machine], weaker) == FAILED | errno.EPERM


@machines
@pytest.mark.requirement("sandbox.walls")
def test_a_call_of_another_architecture_kills(machine: str) -> None:
    i386 = 0x40000003

    assert verdict(machine, READ[machine], architecture=i386) == KILLED


@pytest.mark.requirement("sandbox.walls")
def test_the_x32_calls_of_x86_64_kill() -> None:
    assert verdict("x86_64", 0x40000000 | 101) == KILLED
