"""The default sandbox: bubblewrap with namespaces, a minimal root, a system call filter and limits."""

from agent.sandboxes.bubblewrap.sandbox import BubblewrapSandbox

__all__ = ["BubblewrapSandbox"]
