"""Runs the gateway in the foreground, and shows what it logs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator
from contextlib import contextmanager

from autocompact.cli.queued import workers_of
from autocompact.errors import InvalidInput
from autocompact.gateway import Gateway
from autocompact.gateway.from_settings import open_gateway
from autocompact.gateway.page_mount import Application
from autocompact.gateway.running import announced, found
from autocompact.gateway.server import address_of, listening, run, served
from autocompact.runtime.extras import install_command
from autocompact.settings import Loaded, Settings, gateway_database_of
from autocompact.settings.schedule import schedule_of
from autocompact.stores.naming import ServerUrl
from autocompact.ui.terminal.output import tell

_LOCAL = ("127.0.0.1", "localhost", "::1")
_LOGS = ("autocompact", "uvicorn.error")
_QUIET_SECONDS = 60.0
_MOST_LINES = 1_000
_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class _Line(logging.Formatter):
    """A record on one line, its data behind the text: constant texts alone would not say what, where and why."""

    default_msec_format = "%s.%03d"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """See `logging.Formatter`."""
        return super().formatMessage(record) + _data(record)


class _Seldom(logging.Filter):
    """Lets a line pass that was not shown within the last minute, with the number of its likes that were left out.

    A full disk or an upstream that is down would else be told with each request.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter`."""
        line = f"{record.getMessage()} {_data(record)} {record.exc_info and record.exc_info[1]!r}"
        shown, left_out = self._shown.get(line, (-math.inf, 0))
        if 0 <= record.created - shown < _QUIET_SECONDS:
            self._shown[line] = (shown, left_out + 1)
            return False
        # lines may name ids, so there is no end of different ones
        if len(self._shown) >= _MOST_LINES:
            self._shown.clear()
        self._shown[line] = (record.created, 0)
        if left_out:
            record.left_out = left_out
        return True


def _data(record: logging.LogRecord) -> str:
    return "".join(f"  {name}={value!r}" for name, value in record.__dict__.items() if name not in _USUAL)


@contextmanager
def logs_shown(*more: str) -> Generator[None]:
    """Within this block, warnings and errors of the gateway and of its server go to stderr, with their time.

    Args:
        more: names of further logs.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.WARNING)
    handler.addFilter(_Seldom())
    logs = [logging.getLogger(name) for name in (*_LOGS, *more)]
    for log in logs:
        log.addHandler(handler)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(handler)


def serve_gateway(load: Callable[[], Loaded]) -> None:
    """Serve until a signal says to stop. Nothing is said to listen, and nothing is made, before it can.

    Args:
        load: the settings as they hold; the page asks again when it has changed them.

    Raises:
        InvalidInput: the address cannot be had, or the settings name a key, a token or a model that is not there.
        StoreError: the database cannot be used.
        KeyboardInterrupt: it was SIGINT.
    """
    settings = load().settings
    host, port = settings.gateway.host, settings.gateway.port
    if there := found(host, port):
        raise InvalidInput(
            f"cannot listen on {host}:{port}: an autocompact gateway of yours is running there already; "
            f"use {there}, or choose another --port"
        )
    with listening(host, port) as bound, announced(host, port), logs_shown():
        gateway = open_gateway(settings, workers=workers_of(settings))
        gateway.run_beside(schedule_of(settings))
        page = _page(load, gateway)
        kept = gateway_database_of(settings) or "memory, until this process ends"
        if isinstance(kept, ServerUrl):
            _tell_unguarded(kept)

        def say() -> None:
            address = address_of(bound)
            if page is not None:
                tell(f"Chat on {address}{_key_part(settings, gateway)}")
            tell(f"Listening on {address}  (OPENAI_BASE_URL={address}/v1  ANTHROPIC_BASE_URL={address})")
            tell(f"Conversations of its clients are kept in {kept}")

        async def serving() -> None:
            await gateway.open()
            await served(gateway, bound, page=page, begins=say)

        run(serving())


def _tell_unguarded(url: ServerUrl) -> None:
    """Tell where the role of the store is held to no row-level security."""
    from autocompact.stores.postgres_roles import ADVICE, role_of

    role = role_of(url)
    if role.bypasses:
        tell(f"Tenants: {role.remark}. To change that: {ADVICE}")


def _key_part(settings: Settings, gateway: Gateway) -> str:
    """The part of the page's address that holds its key, where the page asks for one."""
    from autocompact.ui.web.from_settings import page_key

    key = page_key(settings, secret=gateway.config.namespace_key)
    return f"/?key={key}" if key else ""


def _page(load: Callable[[], Loaded], gateway: Gateway) -> Application | None:
    """The chat page; None where it is not wanted, not installed, or others than this computer could open it."""
    settings = load().settings
    if not settings.chat.page:
        return None
    if settings.gateway.host not in _LOCAL:
        tell(f"The chat page is only shown to this computer, so not on {settings.gateway.host}.")
        return None
    try:
        from autocompact.ui.web.from_settings import page_of
    except ImportError as error:
        # a fault of ours, which no installation mends
        if (error.name or "").startswith("autocompact"):
            raise
        tell(f"For the chat page: {install_command('chat')} ({error.name} is missing)")
        return None
    return page_of(load, secret=gateway.config.namespace_key)
