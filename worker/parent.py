"""Tying a process to the one that started it."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def die_with(parent_pid: int) -> None:
    """Have the kernel end this process for certain when `parent_pid`, its parent, ends (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it had ended before the kernel was asked
        os.kill(os.getpid(), signal.SIGKILL)
