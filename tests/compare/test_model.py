# The model itself, against messages that are written out: if it were wrong, everything compared with it would be too.

from chunks import chunked_size, payload
from model import FIN, OPEN, RST, Seen, client_sees, upstream_kept, upstream_sees

GET = b"GET /up/x HTTP/1.1\r\nHost: a\r\n\r\n"
GET_1_0 = b"GET /up/x HTTP/1.0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


def test_request_loses_what_is_hop_by_hop_and_keeps_the_rest():
    asked = (
        b"pOST //up/../up?a=%zz HTTP/1.1\r\nx-a:1 \r\nhOST: evil\r\nConnection: x-b, Content-Length,host\r\n"
        b"X-B: 2\r\nKeep-Alive: 1\r\nTE: gzip;q=1, trailers\r\nte:\ttrailers\r\nTE: gzip\r\nExpect: 100-Continue\r\n"
        b"expect: other\r\nEXPECT:a ,100-continue,\r\n"
        b"Forwarded: a\r\nX-Forwarded-For: b\r\nX-Forwarded: c\r\nX-Slotgate-Workspace: d\r\nx-slotgate-other: e\r\n"
        b"Upgrade: h2c\r\nProxy-Authorization: f\r\nAlt-Svc: g\r\ncontent-length:05\r\n\r\nhello"
    )
    assert upstream_sees(asked, b"api:80", prefix=b"/") == (
        b"pOST /up/../up?a=%zz HTTP/1.1\r\nx-a:1 \r\nhOST: api:80\r\nTE: trailers\r\nte:\ttrailers\r\nexpect: other\r\n"
        b"EXPECT: a\r\n"
        b"X-Forwarded: c\r\nx-slotgate-other: e\r\nAlt-Svc: g\r\ncontent-length:05\r\n\r\nhello"
    )


def test_targets_lose_their_prefix_and_nothing_else():
    for target, passed in (
        *((b"/up", b"/"), (b"/up?", b"/?"), (b"/up/", b"/"), (b"/up//x", b"//x"), (b"/up/up/x", b"/up/x")),
        *((b"http://h/up/x?http://up", b"/x?http://up"), (b"HTTPS://h/up", b"/")),
    ):
        assert (
            upstream_sees(b"GET %s HTTP/1.0\r\n\r\n" % target, b"api")
            == b"GET %s HTTP/1.1\r\nHost: api\r\n\r\n" % passed
        )


def test_answer_loses_what_is_hop_by_hop_and_keeps_the_rest():
    told = (
        OK + b"x-a:1 \r\nAlt-Svc: a\r\nConnection: x-b\r\nX-B: b\r\nUpgrade: c\r\n"
        b"Forwarded: d\r\nContent-Length:2\r\n\r\nok"
    )
    kept = OK + b"x-a:1 \r\nForwarded: d\r\nContent-Length:2\r\n\r\nok"
    assert client_sees(told, OPEN, GET) == Seen(kept, OPEN)


def test_ends_are_shown():
    length, chunked = OK + b"Content-Length: 5\r\n\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n"
    assert client_sees(length + b"hello and more", OPEN, GET) == Seen(length + b"hello", OPEN)
    assert client_sees(length + b"hell", FIN, GET) == Seen(length + b"hell", FIN)
    assert client_sees(chunked + b"2;a\r\nok\r\n0\r\n\r", RST, GET) == Seen(chunked + b"2;a\r\nok\r\n0\r\n\r", RST)
    assert client_sees(chunked + b"2;a\r\nok\r\n", RST, GET) == Seen(chunked + b"2;a\r\nok\r\n", FIN)
    closed = OK + b"Connection: close\r\n\r\n"
    for end in (FIN, RST):
        assert client_sees(OK + b"\r\nhello", end, GET) == Seen(closed + b"hello", end)
    assert client_sees(chunked + b"2;a\r\nok\r\n0\r\n\r\n", OPEN, GET_1_0) == Seen(closed + b"ok", FIN)
    assert client_sees(chunked + b"5\r\nhel", FIN, GET_1_0) == Seen(closed + b"hel", RST)
    assert client_sees(OK + b"X-A: b\r\n", FIN, GET) is None


def test_interim_answers_pass_but_for_100_and_to_http_1_0():
    told = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nKeep-Alive: a\r\nLink: b\r\n\r\nHTTP/1.0 204 No\r\n\r\n"
    assert client_sees(told, OPEN, GET) == Seen(b"HTTP/1.1 103 x\r\nLink: b\r\n\r\nHTTP/1.1 204 No\r\n\r\n", OPEN)
    assert client_sees(told, OPEN, GET_1_0) == Seen(b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", FIN)


def test_upgrade_is_kept_where_it_may_be_granted_or_is_wanted():
    asked = b"GET /up/ HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\nX-A: b\r\n\r\n"
    passed = b"GET / HTTP/1.1\r\nHost: api\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nX-A: b\r\n\r\n"
    assert upstream_sees(asked, b"api") == passed
    told = b"HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: websocket\r\nX-A: b\r\n\r\n\x81\x00"
    assert client_sees(told, OPEN, asked) == Seen(told, OPEN)
    bare = b"HTTP/1.1 101 Go\r\nKeep-Alive: 1\r\nUpgrade: websocket\r\n\r\n"
    given = b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    assert client_sees(bare, OPEN, asked) == Seen(given, OPEN)
    refused = b"HTTP/1.1 426 No\r\nUpgrade: a\r\nconnection: x-b ,upgrade\r\nX-B: c\r\nContent-Length: 0\r\n\r\n"
    kept = b"HTTP/1.1 426 No\r\nUpgrade: a\r\nconnection: Upgrade\r\nContent-Length: 0\r\n\r\n"
    assert client_sees(refused, OPEN, GET) == Seen(kept, OPEN)
    assert b"pgrade" not in upstream_sees(asked.replace(b"GET", b"POST"), b"api")


def test_upstreams_connection_is_kept_after_a_whole_answer_and_nothing_more():
    whole = OK + b"Content-Length: 2\r\n\r\nok"
    assert upstream_kept(whole, OPEN, GET)
    for told, ended in (
        *((whole, FIN), (whole + b"x", OPEN), (whole.replace(b"1.1", b"1.0"), OPEN)),
        *((whole.replace(b"OK\r\n", b"OK\r\nconnection: a, Close\r\n"), OPEN), (OK + b"\r\nok", FIN)),
    ):
        assert not upstream_kept(told, ended, GET)
    assert not upstream_kept(whole, OPEN, GET.replace(b"GET", b"HEAD"))


def test_chunks_are_measured_and_emptied():
    raw = b"0003;a=b\r\nabc\r\nA\r\n0\r\n\r\n12345\r\n0;c\r\nX-T: u\r\n\r\n"
    assert (chunked_size(raw + b"more"), payload(raw)) == (len(raw), b"abc0\r\n\r\n12345")
    assert all(chunked_size(raw[:end]) is None for end in range(len(raw)))
    assert payload(raw[:12]) == b"ab"
