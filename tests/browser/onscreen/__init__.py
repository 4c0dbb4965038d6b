"""The page as a person sees it: a real browser, its windows, and what it complains of."""
