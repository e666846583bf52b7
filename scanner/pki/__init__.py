"""Certificates by what the cluster's PKI configuration says: where they are, and what their keys must be. Pure."""
