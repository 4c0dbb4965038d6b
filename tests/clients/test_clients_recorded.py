# What a tap recorded, taken apart; and what of it the upstream must have received.

from clients.recorded import exchanges, expected_upstream

POST = (
    b"POST /~w/up/v1/messages?beta=true HTTP/1.1\r\nhost: 127.0.0.1:1\r\nX-A:  b\r\nConnection: keep-alive, x-b\r\n"
    b"X-B: 1\r\nX-Slotgate-Workspace: w\r\nContent-Length: 2\r\n\r\n{}"
)
CHUNKED = b"POST /up/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STREAM = b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"


def test_requests_and_answers_of_one_connection_are_paired() -> None:
    (first, ok), (second, stream), (third, none) = exchanges(POST + CHUNKED + POST, OK + STREAM)
    assert (first.body, second.body, third.body) == (b"{}", b"ab", b"{}")
    assert ok is not None
    assert stream is not None
    assert (ok.body, stream.head.status, stream.body) == (b"ok", 200, b"a")
    assert none is None


def test_an_upgrade_ends_the_messages() -> None:
    upgrade = b"GET /up/x HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
    ((_, answer),) = exchanges(upgrade + POST, b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK)
    assert answer is not None
    assert answer.head.status == 101


def test_the_upstream_gets_what_was_sent_less_what_is_for_the_proxy() -> None:
    ((request, _),) = exchanges(POST, b"")
    assert expected_upstream(request, "/~w/up", "model.test") == (
        b"POST /v1/messages?beta=true HTTP/1.1\r\nhost: model.test\r\nX-A:  b\r\nContent-Length: 2\r\n\r\n{}"
    )
