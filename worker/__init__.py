"""PROCESS 2: owns the queue and the state. It knows sessions, not chat platforms.

The doors `messages`, `inbox`, `outbox`, `approvals` and `control` are the only modules the gateway imports.
"""
