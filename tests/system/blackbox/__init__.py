"""The outside of the proxy: a raw upstream, a raw client, the real process. Nothing here knows an HTTP library."""
