"""The gateway process: talks to people until it is told to end."""

import asyncio
import sys

from gateway.adapter import AdapterRefused
from gateway.app import build_gateway
from gateway.settings import GatewaySettings
from worker import host


def main() -> int:
    """Run until told to stop; 78 when the settings cannot work, 69 when what they name is not there now."""
    try:
        settings = host.read_settings(GatewaySettings)
        host.configure_logging(settings)
        asyncio.run(serve(settings))
    except (host.SettingsError, AdapterRefused) as error:
        print(f"paigate gateway: {error}", file=sys.stderr)
        return host.EX_CONFIG
    except (host.RedisUnreachable, OSError) as error:
        print(f"paigate gateway: {error}", file=sys.stderr)
        return host.EX_UNAVAILABLE
    return 0


async def serve(settings: GatewaySettings) -> None:
    """Serve once Redis answers."""
    await host.ping(settings.redis_address)
    host.private_directory(settings.data_dir)
    await build_gateway(settings).run(lambda: host.mark_ready(settings.data_dir, "gateway"))


if __name__ == "__main__":
    sys.exit(main())
