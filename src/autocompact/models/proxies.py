"""Which proxy the environment names for an address."""

from __future__ import annotations

from urllib.parse import urlsplit

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def proxy_for(url: str) -> str | None:
    """The proxy of ``HTTP_PROXY``, ``HTTPS_PROXY`` or ``ALL_PROXY`` (or of the system) for ``url``, as they are now.

    None for this computer, for what ``NO_PROXY`` names, and for a proxy that does not speak HTTP.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if parts.hostname in _HERE or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all") or ""
    named = named if "://" in named or not named else f"http://{named}"
    return named if urlsplit(named).scheme in ("http", "https") else None
