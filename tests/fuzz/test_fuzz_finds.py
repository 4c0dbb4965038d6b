# What fuzzing found, with the bytes that showed it.

import pytest
from hostile.reading import answers, requests

ZEROS = b"0" * 5000  # int() takes no more than 4300 digits


@pytest.mark.parametrize(("value", "payload"), [(ZEROS + b"5", b"abcde"), (ZEROS, b"")])
def test_length_with_thousands_of_zeros_is_read(value, payload):
    """It was a ValueError, which nobody expected."""
    asked = requests([b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\n%s" % (value, payload)])
    told = answers([b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n%s" % (value, payload)], b"GET")
    for reading in (asked, told):
        assert [(message.payload, message.whole) for message in reading.messages] == [(payload, True)]
