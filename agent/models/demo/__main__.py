"""Serve the demo model."""

import sys

from agent.models.demo.server import main

sys.exit(main())
