# From news and keys to the screen, until somebody quits.

import os
import sys

from proxy.cli.admin import Admin
from proxy.cli.ending import ends_in_order
from proxy.cli.keys import raw_keys
from proxy.cli.live.board import Board
from proxy.cli.live.drawing import draw
from proxy.cli.live.facts import look
from proxy.cli.live.feed import Feed
from proxy.cli.live.keyboard import Keyboard
from proxy.cli.screen import Screen

_ESCAPE_S = 0.05  # after which an escape is the key alone
_IDLE_S = 60.0
_AT_ONCE = 1024  # bytes of keys


def run(admin: Admin) -> None:
    """Failure, before anything is drawn, where the proxy cannot be asked."""
    board = Board(look(admin))
    terminal = sys.stdin.fileno()
    with ends_in_order(), raw_keys(terminal), Screen() as screen, Feed(admin, screen.poke) as feed:
        keyboard, begin = Keyboard(), 0
        while not board.over:
            lines, begin = draw(board, *screen.size, begin)
            screen.draw(lines)
            keys: list[str] = []
            ready = screen.wait(_ESCAPE_S if keyboard.pending else _IDLE_S, terminal)
            if ready is None:
                keys = keyboard.settle()
            elif ready:
                typed = os.read(terminal, _AT_ONCE)
                keys = keyboard.feed(typed) if typed else ["q"]  # the terminal has gone
            for news in feed.news():
                board.hear(news)
            for key in keys:
                if change := board.press(key):
                    feed.ask(change)
