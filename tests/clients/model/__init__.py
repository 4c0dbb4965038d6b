"""A model that any client can talk to: four dialects, streamed or whole, and a script instead of a mind."""
