from __future__ import annotations

import socket

import pytest

from autocompact.errors import InvalidInput
from autocompact.gateway.server import address_of, listening


def test_small_packets_are_sent_at_once() -> None:
    with listening("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP
        assert address_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_a_port_that_is_taken_is_said_to_be_so() -> None:
    with listening("127.0.0.1", 0) as bound, pytest.raises(InvalidInput, match="choose another --port"):
        listening("127.0.0.1", bound.getsockname()[1])


def test_who_connects_before_it_serves_waits_and_is_served() -> None:
    with listening("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()) as client:
        assert client.getpeername() == bound.getsockname()
