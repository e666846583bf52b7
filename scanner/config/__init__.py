"""The files that adhere defines: policy, component catalogue, certificate names, configuration."""
