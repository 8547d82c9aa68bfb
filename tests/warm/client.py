"""``python -I -S client.py SOCKET PROGRAM [ARGUMENT...]``: has the program run by the server, and stands for it.

It passes its streams on, sends on the signals that it gets, and ends as the program ends: with its code, or killed by the same
signal. It imports next to nothing.
"""

import json
import os
import signal
import socket
import sys

PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH, signal.SIGUSR1)


def main() -> None:
    _, path, program, *arguments = sys.argv
    ignored = [each for each in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_IGN]
    early: list[int] = []
    server = None

    def send(number: int, _: object) -> None:
        if server is None:
            early.append(number)
        else:
            server.sendall(bytes([number]))

    for each in PASSED:
        if each not in ignored:
            signal.signal(each, send)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    told = {
        "program": program,
        "arguments": arguments,
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "ignored": ignored,
        "umask": _umask(),
    }
    socket.send_fds(connection, [json.dumps(told).encode() + b"\n"], [0, 1, 2])
    server = connection
    for number in early:
        connection.sendall(bytes([number]))
    status = b""
    while len(status) < 4 and (piece := connection.recv(4 - len(status))):
        status += piece
    code = int.from_bytes(status, "big", signed=True) if len(status) == 4 else 70
    _end(code)


def _end(code: int) -> None:
    if code < 0:
        if code != -signal.SIGKILL:  # which nobody can handle
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


main()
