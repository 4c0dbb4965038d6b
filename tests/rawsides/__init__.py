# The proxy between two raw sockets, in one process: what a test sends and what it sees on either side are bytes.
