"""Connections to a provider: stopped at any time, sent once, with the right headers, and through an HTTP proxy."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from clerkship.llm.hosts import ModelHosts
from clerkship.llm.retry import ModelRetryPolicy, TimeSpent
from clerkship.providers.connections import ProviderAccount, ProviderFailed, ProviderHost, RequestStop
from tests.actors.servers import Answered, Asked, Served
from tests.imports import anthropic
from tests.waiting import wait_until

KEY = "key-that-must-never-be-seen"
GOOD: Answered = (200, {}, b"{}")


def host_at(url: str, provider: str = "openai") -> ProviderHost:
    """Return the connections to a server."""
    return ProviderHost(ProviderAccount(provider, url, KEY, "KEY"))  # type: ignore[arg-type]


def post(host: ProviderHost, body: bytes = b"{}", stop: RequestStop | None = None) -> bytes:
    """Post a body and return the response."""
    return host.send("POST", "/chat", {}, {}, body, stop).read_all(1000)


@contextmanager
def in_thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run work that fails in a thread; wait for its end."""

    def run() -> None:
        with pytest.raises(ProviderFailed):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    yield thread
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("is_kept", [False, True])
def test_request_that_is_stopped_is_not_sent_again(is_kept: bool) -> None:
    over, stop = threading.Event(), RequestStop()

    def answer(asked: Asked) -> Answered | None:
        if asked.body == b"wait":
            over.wait(20)
        return GOOD

    with Served(answer) as served, closing(host_at(served.url)) as host:
        if is_kept:
            post(host)
        with in_thread(lambda: post(host, b"wait", stop)):
            wait_until(lambda: any(asked.body == b"wait" for asked in served.asked))
            stop.stop()
        over.set()
    assert [asked.body for asked in served.asked].count(b"wait") == 1


def test_stop_after_the_response_does_not_disturb_the_next_request() -> None:
    early, here, go_on = RequestStop(), threading.Event(), threading.Event()

    def answer(asked: Asked) -> Answered:
        if asked.body == b"wait":
            here.set()
            go_on.wait(20)
        return GOOD

    with Served(answer) as served, closing(host_at(served.url)) as host:
        post(host, stop=early)
        found: list[bytes] = []
        thread = threading.Thread(target=lambda: found.append(post(host, b"wait")))
        thread.start()
        assert here.wait(20)
        early.stop()
        go_on.set()
        thread.join(20)
    assert found == [b"{}"]
    assert [asked.port for asked in served.asked] == [served.asked[0].port] * 2


def test_request_is_stopped_while_its_body_is_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = RequestStop(60)
        with (
            closing(host_at(f"http://127.0.0.1:{server.getsockname()[1]}")) as host,
            in_thread(lambda: post(host, bytes(50_000_000), stop)),
        ):
            accepted, _ = server.accept()
            with accepted:
                accepted.recv(1000)
                stop.stop()


def test_request_is_stopped_during_the_handshake_of_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = RequestStop(60)
        with (
            closing(host_at(f"https://127.0.0.1:{server.getsockname()[1]}")) as host,
            in_thread(lambda: post(host, stop=stop)),
        ):
            accepted, _ = server.accept()
            with accepted:
                accepted.recv(1000)
                stop.stop()


def test_request_that_was_stopped_before_is_not_sent() -> None:
    stop = RequestStop()
    stop.stop()
    with Served(lambda asked: GOOD) as served, closing(host_at(served.url)) as host:
        with pytest.raises(ProviderFailed, match="the request was stopped"):
            post(host, stop=stop)
        post(host)
        with pytest.raises(ProviderFailed):
            post(host, stop=stop)
    assert len(served.asked) == 1


def test_anthropic_gets_the_version_and_the_key_as_its_own_library_sends_them() -> None:
    library = anthropic.Anthropic(api_key=KEY).default_headers
    with Served(lambda asked: GOOD) as served, closing(host_at(served.url, "anthropic")) as host:
        post(host)
        host.send("POST", "/chat", {}, {"anthropic-version": "2023-06-01"}, b"{}").read_all(1000)
    newer, older = [asked.headers for asked in served.asked]
    assert newer["anthropic-version"] == library["anthropic-version"]
    assert newer["authorization"] == f"Bearer {KEY}"
    assert (older["anthropic-version"], older["x-api-key"]) == ("2023-06-01", KEY)
    assert "authorization" not in older


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_proxy_of_the_environment_is_used_with_its_password(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Served(lambda asked: GOOD) as served:
        monkeypatch.setenv(variable, served.url.replace("http://", "http://ada:secret@"))
        with closing(host_at("http://provider.test/v1")) as host:
            post(host)
    [asked] = served.asked
    assert asked.path == "http://provider.test/v1/chat"
    assert asked.headers["host"] == "provider.test"
    assert asked.headers["proxy-authorization"] == "Basic YWRhOnNlY3JldA=="


def test_accounts_at_one_address_do_not_share_their_headers() -> None:
    with Served(lambda asked: GOOD) as served:
        hosts = ModelHosts()
        hosts.add_model(served.url, None)
        accounts = [
            ProviderAccount("openai", served.url, KEY, "KEY"),
            ProviderAccount("anthropic", served.url, KEY, "KEY"),
            ProviderAccount("openai", served.url, KEY, "KEY", "api-key", {"api-version": "1"}),
        ]
        for account in accounts:
            hosts.build_client(account, "", policy=ModelRetryPolicy()).post("/chat", {}, "m", TimeSpent())
        hosts.remove_model()
    names = {"authorization", "api-key", "anthropic-version"}
    assert [(asked.path, asked.headers.keys() & names) for asked in served.asked] == [
        ("/chat", {"authorization"}),
        ("/chat", {"authorization", "anthropic-version"}),
        ("/chat?api-version=1", {"api-key"}),
    ]
