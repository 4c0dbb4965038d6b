"""What a hostile peer sends, how the proxy and h11 read it, and a live proxy between two such peers."""
