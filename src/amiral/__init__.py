"""A self-hosted command centre for fleets of coding agents."""

__version__ = "0.1.0"
