# The command line: `serve` runs the proxy, `check` and `env` read its configuration, the rest talks to a running one.
#
# Rule 1: commands only: what they do is done by the packages below, or by the proxy behind its admin API.
# Rule 2: every command has --json, and its answer is then one JSON document on stdout, an error too.
# Rule 3: exit status 0 done, 1 the proxy said no or cannot be reached, 2 wrong usage, 78 wrong configuration.

import click

from proxy import __version__

from .control import cooldown, learn, limit, pause, restore, resume
from .demo import demo
from .happening import events
from .live import top
from .past import audit, history
from .places import reclaim, slots
from .pointing import env
from .serving import check, serve
from .shells import completion
from .steering import reload, star, unstar
from .watching import status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="slotgate", message="%(prog)s %(version)s")
def cli() -> None:
    """Slotgate makes every client of an LLM provider wait its turn."""


for _command in (
    *(serve, demo, check, env, completion),
    *(status, top, slots, events, history, audit),
    *(limit, cooldown, pause, resume, restore, learn, reclaim, star, unstar, reload),
):
    cli.add_command(_command)
