# Freed memory goes back to the system when it is much.

import ctypes
import multiprocessing
import sys

import pytest

from proxy.service.heap import SLACK, Heap

glibc = pytest.mark.skipif(
    not (sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallinfo2")), reason="needs glibc 2.33"
)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def crowd(size: int) -> tuple[list[bytearray], list[bytearray]]:
    """Pieces of prompts, and small things that lie between them."""
    pieces, between = [], []
    for _ in range(size // 100_000):
        pieces.append(bytearray(b"x") * 100_000)
        between.append(bytearray(b"x") * 2000)
    return pieces, between


def alone(work):
    """In a process of its own: in one that has run other tests there are holes for what is to lie in between."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(work)


@glibc
def test_much_that_was_freed_is_given_back_once():
    alone(free_much)


@glibc
def test_little_that_was_freed_stays():
    alone(free_little)


def free_much():
    heap = Heap()
    pieces, between = crowd(4 * SLACK)
    assert not heap.look(), "nothing is free yet"
    before = resident()
    pieces.clear()
    assert heap.look()
    assert before - resident() > 3 * SLACK
    assert not heap.look(), "there is no more to give back"
    del between


def free_little():
    heap = Heap()
    pieces, between = crowd(SLACK // 2)
    heap.look()
    pieces.clear()
    assert not heap.look()
    del between
