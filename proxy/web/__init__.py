"""HTTP: the listeners, a request's life, who is asking, and the admin API."""
