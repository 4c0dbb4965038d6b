"""The admin API and its page (spec §12): `admin_app` makes the application; the server gives it a listener."""

from proxy.web.admin.app import admin_app

__all__ = ["admin_app"]
