"""Bytes on sockets: heads and bodies, the client's connection, the upstream's, and what passes between them."""
