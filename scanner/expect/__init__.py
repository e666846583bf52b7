"""Expectations: what each endpoint owes, and who says so. Pure; one file a resolver, in the order of the reasons."""
