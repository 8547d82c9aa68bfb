"""The gateway: any client of a provider's API gets compaction by changing its base URL.

`Gateway` is an ASGI application; `autocompact.gateway.server.running` serves it on a port. It needs the extra
``gateway``.
"""

try:
    from autocompact.gateway.app import Gateway
    from autocompact.gateway.config import AccessToken, Config, Limits
except ModuleNotFoundError as error:
    from autocompact.runtime.extras import install_command

    raise ImportError(
        f"the gateway needs {error.name}: {install_command('gateway')}", name=error.name
    ) from error

__all__ = ["AccessToken", "Config", "Gateway", "Limits"]
