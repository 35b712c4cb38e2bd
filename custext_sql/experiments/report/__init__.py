"""The page that shows what eps and K buy."""
