"""The Kubernetes objects that more than one stage reads: each read once, typed, and the same for all of them."""
