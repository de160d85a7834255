"""Endpoints as parts of a key: the same server has one name, and no secret is in it."""

import pytest

from simulator.identity import Identity, endpoint
from simulator.models import identity


@pytest.mark.parametrize(
    ("base_url", "named"),
    [
        (None, ""),
        ("", ""),
        ("https://API.Host.org/v1/", "https://api.host.org/v1"),
        ("https://api.host.org:443/v1", "https://api.host.org/v1"),
        ("http://api.host.org:80", "http://api.host.org"),
        ("http://api.host.org:443/v1", "http://api.host.org:443/v1"),
        ("https://user:secret@api.host.org/v1?key=secret", "https://api.host.org/v1"),
        ("http://127.0.0.1:8000/v1", "loopback/v1"),
        ("http://127.0.0.1:9123/v1/", "loopback/v1"),
        ("http://localhost:1/v1", "loopback/v1"),
        ("http://[::1]:8000/v1", "loopback/v1"),
        ("http://10.0.0.5:8000/v1", "http://10.0.0.5:8000/v1"),
        ("http://[2001:db8::1]:8000/v1", "http://[2001:db8::1]:8000/v1"),
    ],
)
def test_an_endpoint_is_named_as_it_stays_from_day_to_day(base_url: str | None, named: str) -> None:
    assert endpoint(base_url) == named


def test_the_embedded_model_is_known_by_its_weights_without_being_opened() -> None:
    who = identity("embedded")
    assert who.model.startswith("embedded:SmolLM2") and len(who.revision) == 12 and who.endpoint == ""


def test_another_model_is_known_by_its_name_and_endpoint() -> None:
    assert identity("openai:m", "http://localhost:9/v1") == Identity("openai:m", "", "loopback/v1")
