"""The lock of the real clients from npm is complete, so that ``npm ci`` takes it."""

from __future__ import annotations

import json
from typing import Any

from tools.lock_clients import PINNED, complete, missing


def read(name: str) -> dict[str, Any]:
    return json.loads((PINNED / name).read_text())


def test_the_lock_has_the_versions_that_are_pinned_and_an_entry_for_every_platform() -> None:
    packages = read("package-lock.json")["packages"]
    pinned = read("package.json")["dependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert list(missing(read("package-lock.json"))) == []


def test_a_package_that_the_registry_did_not_give_is_added_for_the_platforms_of_its_name() -> None:
    agent = {
        "version": "2.0.0",
        "optionalDependencies": {"@agent/cli-windows-arm64": "2.0.0", "near": "1.0.0"},
    }
    lock: dict[str, Any] = {
        "packages": {
            "": {"dependencies": {"agent": "2.0.0"}},
            "node_modules/agent": agent,
            "node_modules/agent/node_modules/near": {"version": "1.0.0"},
            "node_modules/zed": {"version": "1.0.0", "optionalDependencies": {"zed-linux-x64-musl": "1.0.0"}},
        }
    }
    complete(lock)
    assert lock["packages"]["node_modules/@agent/cli-windows-arm64"] == {
        "version": "2.0.0",
        "optional": True,
        "os": ["win32"],
        "cpu": ["arm64"],
    }
    assert lock["packages"]["node_modules/zed-linux-x64-musl"] == {
        "version": "1.0.0",
        "optional": True,
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["musl"],
    }
    assert list(missing(lock)) == []
    assert next(iter(lock["packages"])) == ""
