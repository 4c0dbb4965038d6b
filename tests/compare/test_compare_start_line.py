# Methods, targets, statuses and reasons: every one that is valid passes as it is.

from rawsides.message import answer, begun, get, request
from stage import Exchange, Stage

OK = answer(b"ok")
# IANA's registry, but for CONNECT and the `*` of PRI, which is no path.
METHODS = [
    *("ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "GET", "LABEL", "LINK"),
    *("LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE"),
    *("OPTIONS", "ORDERPATCH", "PATCH", "POST", "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND"),
    *("REPORT", "SEARCH", "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF"),
    *("VERSION-CONTROL"),
]
ODD_METHODS = ["get", "Get", "post", "pOsT", "head", "PURGE", "M-SEARCH", "X", "!#$%&'*+-.^_`|~0", "G" * 1000, "GETT"]
TARGETS = (
    *(
        "",
        "/",
        "?",
        "?a",
        "/?",
        "/??",
        "/?&",
        "/?a&b=",
        "/?=c",
        "/?a=b?c=d",
        "/?a=/b/../c",
        "/?#",
        "/?a#b?c",
        "/#",
        "/a#b",
    ),
    *(
        "//",
        "///",
        "//a//b//",
        "/a//",
        "/.",
        "/..",
        "/./",
        "/../",
        "/../..",
        "/a/./b/../c",
        "/%2e%2e/x",
        "/.%2E/x",
        "/..;/x",
    ),
    *(
        "/%2F",
        "/a%2fb%2Fc",
        "/%",
        "/%%",
        "/%z",
        "/%zz",
        "/%4",
        "/%00",
        "/%0d%0aX:%20y",
        "/%25",
        "/%2525",
        "/%c3%a9",
        "/%C3%A9",
    ),
    *(
        "/+",
        "/a+b?c+d=%20+",
        "/;",
        "/a;b=c;d?e;f",
        "/,",
        "/a:b",
        "/:80/",
        "/@",
        "/a@b",
        "/!$&'()*",
        "/~",
        "/~x/y",
        "/|",
        "/^`{}",
    ),
    *(
        "/[x]",
        "/?a[]=1&a[]=2",
        "/?a[b]=c",
        '/"a"',
        "/<a>",
        "/\\",
        "/\\..\\x",
        "/a\\b",
        "/\xe9",
        "/\xc3\xa9",
        "/\xff\x80",
        "/?q=\xff",
    ),
    *(
        "//evil.test/x",
        "//user@evil.test:80/",
        "/http://evil.test/x",
        "/https:%2F%2Fevil",
        "/up/up/",
        "/up",
        "/models/gpt-4.1:free",
    ),
    *(
        "/v1/files/a%2Fb?x=%2F",
        "/v1beta/models/gemini:streamGenerateContent?alt=sse&key=a%2Bb",
        "/?X-Sig=%41%7e%2D&e=%2E",
    ),
    *("/" + "a" * 12_000, "/?" + "b" * 12_000, "/" + "%2F" * 4000, "/" + "/" * 5000),
)
STATUSES = [
    *(*range(200, 230), 250, 299, *range(300, 309), 310, 399, *range(400, 432), 444, 451, 460, 463, 494, 499),
    *(*range(500, 512), 520, 521, 522, 525, 529, 530, 598, 599, 600, 666, 799, 800, 999),
]
REASONS = [
    "",
    " ",
    " OK",
    " ok",
    " Not  Found\t!",
    " caf\xe9",
    " \xe4\xbd\xa0",
    " \xff",
    "  two spaces",
    " OK ",
    " " + "r" * 16_000,
]


async def test_every_method_in_its_own_case(stage: Stage):
    await stage.shows_no_difference(
        {method: Exchange(request(method, "/up/v1/x"), OK) for method in [*METHODS, *ODD_METHODS]}
        | {f"{method} with a body": Exchange(request(method, "/up/v1/x", body=b"body"), OK) for method in METHODS}
    )


async def test_every_target_as_it_was_written(stage: Stage):
    await stage.shows_no_difference({repr(target[:60]): Exchange(get(f"/up{target}"), OK) for target in TARGETS})


async def test_every_target_of_a_counted_request_as_it_was_written(stage: Stage):
    await stage.shows_no_difference(
        {repr(target[:60]): Exchange(request("POST", f"/up{target}", body=b"{}"), OK) for target in TARGETS}
    )


async def test_absolute_form_is_cut_to_its_path(stage: Stage):
    places = ("http://a", "HTTP://user:pw@evil.test:81", "https://[::1]:443", "http://")
    await stage.shows_no_difference(
        {
            f"{place}{rest}": Exchange(get(f"{place}/up{rest}"), OK)
            for place in places
            for rest in ("/", "/x?y", "", "?q")
        }
    )


async def test_every_status(stage: Stage):
    await stage.shows_no_difference(
        {str(status): Exchange(get("/up/"), begun("Content-Length: 0", status=f"{status} Said")) for status in STATUSES}
        | {
            f"{status} to POST": Exchange(request("POST", "/up/", body=b"{}"), answer(b'{"a":1}', status=f"{status} x"))
            for status in STATUSES
            if status not in (204, 304)
        }
    )


async def test_every_reason(stage: Stage):
    await stage.shows_no_difference(
        {repr(reason[:20]): Exchange(get("/up/"), answer(b"x", status=f"404{reason}")) for reason in REASONS}
    )
