"""The system calls that a sandboxed program may not make, as a classic BPF program for `seccomp(2)`.

Refused calls are a second wall behind the namespaces: they are what kernel escapes start with, and no build or test
needs them. Numbers are those of the kernel's `asm/unistd_64.h` (x86_64) and `asm-generic/unistd.h` (aarch64).
"""

import errno
import socket
import struct
from collections.abc import Sequence

# `struct seccomp_data`: bytes 0..3 are the call's number, 4..7 the architecture, from 16 on six arguments of 8 bytes.
# The arguments tested here are C ints: the kernel looks at their lower half only, which comes first.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_FAIL_WITH = 0x00050000

# x86_64 has a second table of calls, reached with this bit, which would step around the numbers below.
_X32_BIT = 0x40000000

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

SOCKET = {"x86_64": 41, "aarch64": 198}
PERSONALITY = {"x86_64": 135, "aarch64": 92}

REFUSED: dict[str, tuple[int, int]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    # keys, tracing, and the calls that go round this filter
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
}
"""Name -> number on (x86_64, aarch64)."""

_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_IPPROTO_MPTCP = 262
# What asks for the present personality, and the ordinary one; others weaken the layout of memory.
_PERSONALITIES = (0xFFFFFFFF, 0)


def seccomp_filter(machine: str) -> bytes:
    """The filter for `platform.machine()`, as `bwrap --seccomp` reads it.

    Refused calls fail with EPERM, as do unusual personalities; sockets other than Unix and IP fail with EAFNOSUPPORT,
    and those of multipath TCP with EPROTONOSUPPORT. A call of another architecture kills the process.

    Raises:
        KeyError: no table for this machine.
    """
    architecture = AUDIT_ARCHITECTURES[machine]
    column = list(AUDIT_ARCHITECTURES).index(machine)
    program = [_step(_LOAD, _ARCHITECTURE), _step(_IF_EQUAL, architecture, then=1), _step(_RETURN, _KILL_PROCESS)]
    program.append(_step(_LOAD, _NUMBER))
    if machine == "x86_64":
        program += [_step(_IF_AT_LEAST, _X32_BIT, otherwise=1), _step(_RETURN, _KILL_PROCESS)]
    for numbers in REFUSED.values():
        program += _return_if(numbers[column], _FAIL_WITH | errno.EPERM)
    program += _for_call(PERSONALITY[machine], _only(_PERSONALITIES, errno.EPERM))
    no_multipath = [_step(_LOAD, _THIRD_ARGUMENT), *_return_if(_IPPROTO_MPTCP, _FAIL_WITH | errno.EPROTONOSUPPORT)]
    program += _for_call(SOCKET[machine], [*no_multipath, *_only(_FAMILIES, errno.EAFNOSUPPORT)])
    program.append(_step(_RETURN, _ALLOW))
    return b"".join(program)


def _for_call(number: int, steps: Sequence[bytes]) -> list[bytes]:
    """Steps that end in a return, for one call; for others the number stays loaded."""
    return [_step(_IF_EQUAL, number, otherwise=len(steps)), *steps]


def _only(values: Sequence[int], error: int) -> list[bytes]:
    """Let the call pass when its first argument is one of these."""
    steps = [_step(_LOAD, _FIRST_ARGUMENT)]
    for value in values:
        steps += _return_if(value, _ALLOW)
    return [*steps, _step(_RETURN, _FAIL_WITH | error)]


def _return_if(value: int, verdict: int) -> list[bytes]:
    return [_step(_IF_EQUAL, value, otherwise=1), _step(_RETURN, verdict)]


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """One `struct sock_filter`: jumps count the steps to skip."""
    return struct.pack("HBBI", code, then, otherwise, value)
