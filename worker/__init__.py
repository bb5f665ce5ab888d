"""PROCESS 2: owns the queue and the state. It knows sessions, not chat platforms.

The doors `messages`, `inbox`, `outbox`, `approvals`, `control` and `host` are the only modules the gateway imports.
"""
