"""The gateway: any client of a provider's API gets compaction by changing its base URL.

`Gateway` is an ASGI application; `autocompact.gateway.server.running` serves it on a port. It needs the extra
``gateway``: ``pip install "autocompact[gateway]"``.
"""

from autocompact.gateway.app import Gateway
from autocompact.gateway.config import Config, Limits

__all__ = ["Config", "Gateway", "Limits"]
