"""What stands in a kept object where something was that must not stay: that it was there, and nothing else."""

from __future__ import annotations

from typing import Final

REMOVED: Final = "[private key removed]"
CONTAINER: Final = "[PKCS #12 container removed]"
"""Whether a key was in it only its password shows; containers of trusted certificates look the same."""
WITHHELD: Final = "[removed]"
"""A password, or what calls itself a private key and is a placeholder for one."""
