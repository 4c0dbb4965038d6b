"""Real agents and SDKs, unchanged, in front of the real proxy and a fake model. `-m clients` runs all of them."""
