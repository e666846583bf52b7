"""Names that mean something to more than one stage."""

from __future__ import annotations

NOBODYS = "no-such-name.adhere.invalid"
"""A name that nobody can have (RFC 6761, section 6.4)."""
