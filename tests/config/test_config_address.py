import pytest

from proxy.config import Address, BaseUrl, parse_address, parse_url
from proxy.config.url import check_reference, parse_proxy


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8787", Address(host="127.0.0.1", port=8787)),
        ("[::1]:8787", Address(host="::1", port=8787)),
        ("0.0.0.0:1", Address(host="0.0.0.0", port=1)),
        ("proxy.example.com:65535", Address(host="proxy.example.com", port=65535)),
        ("unix:/run/slotgate/client.sock", Address(kind="unix", path="/run/slotgate/client.sock")),
    ],
)
def test_an_address_is_read_and_shown_as_written(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("127.0.0.1", "port is missing"),
        ("127.0.0.1:", "from 1 to 65535"),
        ("127.0.0.1:0", "from 1 to 65535"),
        ("127.0.0.1:65536", "from 1 to 65535"),
        ("127.0.0.1:８７", "from 1 to 65535"),
        (":8787", "host is missing"),
        ("::1:8787", "needs brackets"),
        ("[::1]", "port is missing"),
        ("[::g]:1", "no IPv6 address"),
        ("1.2.3:80", "no IPv4 address"),
        ("1.2.3.256:80", "no IPv4 address"),
        ("bücher.example:80", "xn--"),
        ("a b:80", "not a host name"),
        ("-a:80", "not a host name"),
        ("http://a:80", "needs brackets|from 1 to"),
        ("unix:run/x", "absolute path"),
        ("unix:/run/", "absolute path"),
        ("unix:/" + "x" * 107, "at most 107 bytes"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        *(("127.0.0.1:1", True), ("127.9.9.9:1", True), ("[::1]:1", True), ("localhost:1", True), ("unix:/x", True)),
        *(("0.0.0.0:1", False), ("[::]:1", False), ("10.0.0.1:1", False), ("localhost.example.com:1", False)),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(text: str, loopback: bool) -> None:
    assert parse_address(text).is_loopback is loopback


@pytest.mark.parametrize(
    ("text", "shown", "authority", "port"),
    [
        ("https://api.example.com", "https://api.example.com", "api.example.com", 443),
        ("https://API.example.com/v1/", "https://api.example.com/v1", "api.example.com", 443),
        ("HTTP://h:80/", "http://h", "h", 80),
        ("http://h:8080/a//b", "http://h:8080/a//b", "h:8080", 8080),
        ("https://h:80", "https://h:80", "h:80", 80),
        ("http://[::1]:11434", "http://[::1]:11434", "[::1]:11434", 11434),
        ("https://h/a%2Fb", "https://h/a%2Fb", "h", 443),
    ],
)
def test_a_base_url_is_taken_apart(text: str, shown: str, authority: str, port: int) -> None:
    url = parse_url(text)
    assert (str(url), url.authority, url.port) == (shown, authority, port)
    assert url.tls is text.lower().startswith("https")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("api.example.com", "must begin with http"),
        ("ftp://h", "must begin with http"),
        ("https://", "host is missing"),
        ("https:///v1", "host is missing"),
        ("https://h?x=1", "query or fragment"),
        ("https://h/v1#x", "query or fragment"),
        ("https://u:p@h", "no user and password"),
        ("https://h:0", "from 1 to 65535"),
        ("https://h:x", "from 1 to 65535"),
        ("https://h/a b", "printable ASCII"),
        ("https://h/ü", "printable ASCII"),
        ("https://h\\x", "printable ASCII"),
        ("https://h/\r\nX: y", "printable ASCII"),
        ("https://::1", "needs brackets"),
    ],
)
def test_what_is_no_base_url_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_url(text)


def test_a_proxy_may_carry_credentials_which_stay_out_of_sight() -> None:
    url = parse_proxy("http://user:p%40ss@proxy:3128")
    assert url == BaseUrl(scheme="http", host="proxy", port=3128, userinfo="user:p@ss")
    assert "p@ss" not in repr(url) + str(url)
    with pytest.raises(ValueError, match="no path"):
        parse_proxy("http://proxy/x")


@pytest.mark.parametrize("text", ["/v1/usage", "usage?x=1", "https://other.example/usage", "//other.example/x"])
def test_a_url_reference_is_taken(text: str) -> None:
    assert check_reference(text) == text


@pytest.mark.parametrize("text", ["", "a b", "ftp://h/x", "mailto:x", "/x#y", "https://u:p@h/x", "http://[::1", "\\x"])
def test_what_is_no_url_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        check_reference(text)
