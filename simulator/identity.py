"""Whose answer a recorded call is: model, revision and endpoint, the latter as it stays the same from day to day."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose answer it is. `revision`: of the weights, where that is known; `endpoint`: "" for hosted and embedded."""

    model: str
    revision: str = ""
    endpoint: str = ""


def endpoint(base_url: str | None) -> str:
    """`base_url` as part of a key: without user, password, query, default port and final slash, in lower case.

    Any port of this very machine is "loopback": a local server gets another one at its next start.
    """
    if not base_url:
        return ""
    parts = urlsplit(base_url)
    host, path = (parts.hostname or "").lower(), parts.path.rstrip("/")
    if _loopback(host):
        return f"loopback{path}"
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{path}"


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
