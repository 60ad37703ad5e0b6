"""How the service listens."""

import socket

import pytest

pytest.importorskip("fastapi")
from polyglance.serve.run import _listening


def test_connections_send_bodies_without_waiting_for_acknowledgements() -> None:
    with (
        _listening("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
