# A real proxy with traffic, scraped by a real Prometheus with our files: what the dashboard asks has answers, and an
# alert says what happened.

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from blackbox.admin import Admin, part
from blackbox.rig import Rig, a_rig
from blackbox.waiting import until
from prometheus_client.parser import text_string_to_metric_families
from shipped import PROMETHEUS, RULES, installed, metrics, rules, shown

UPSTREAMS = {"up": {"limit": 3, "cooldown": "0s", "pause": {"default": "0s", "max": "1s"}}}
START_S = 40.0
# Of providers of another kind: those that count strikes, and those that tell their count.
ELSEWHERE = {"slotgate_strikes_allowed", "slotgate_external_use"}
BESIDE = {"slotgate_identity_unreadable_total"}  # nobody said anything that could not be read


class Prometheus:
    """Asked over its API."""

    def __init__(self, port: int) -> None:
        self._api = Admin(("127.0.0.1", port))

    async def ready(self) -> bool:
        with contextlib.suppress(OSError, AssertionError):
            return (await self._api.get("/-/ready")).status == 200
        return False

    async def query(self, expression: str) -> list[dict[str, Any]]:
        reply = await self._api.get(f"/api/v1/query?query={quote(expression, safe='')}")
        assert reply.status == 200, f"{expression}: {reply.body!r}"
        found: list[dict[str, Any]] = reply.json["data"]["result"]
        return found

    async def rules(self) -> list[dict[str, Any]]:
        """By groups."""
        found: list[dict[str, Any]] = (await self._api.get("/api/v1/rules")).json["data"]["groups"]
        return found

    async def firing(self, alert: str) -> dict[str, Any] | None:
        pending = (await self._api.get("/api/v1/alerts")).json["data"]["alerts"]
        named = [each for each in pending if each["labels"]["alertname"] == alert]
        return named[0] if named and named[0]["state"] == "firing" else None

    async def up(self) -> bool:
        return [each["value"][1] for each in await self.query('up{job="slotgate"}')] == ["1"]


@contextlib.asynccontextmanager
async def watched(rig: Rig, folder: Path, **changes: object) -> AsyncIterator[Prometheus]:
    """Our configuration, with this proxy's address, and faster."""
    config = yaml.safe_load(PROMETHEUS.read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    host, port = rig.proxy.admin_address
    config["scrape_configs"][0].update(changes, static_configs=[{"targets": [f"{host}:{port}"]}])
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    process = subprocess.Popen(
        [
            installed("prometheus"),
            f"--config.file={file}",
            f"--storage.tsdb.path={folder / 'metrics'}",
            f"--web.listen-address=127.0.0.1:{own}",
            "--log.level=error",
        ],
        cwd=folder,
        env={**os.environ, "GOMAXPROCS": "1"},
    )
    try:
        it = Prometheus(own)
        await until(it.ready, timeout=START_S, every=0.05, what="Prometheus to be ready")
        await until(it.up, timeout=START_S, every=0.1, what="the proxy to be scraped")
        yield it
    finally:
        process.kill()
        process.wait(20)


async def names(rig: Rig) -> set[str]:
    """Of everything that the proxy tells, with the suffixes of histograms and counters."""
    text = (await rig.admin.get("/metrics")).body.decode()
    found = set()
    for family in text_string_to_metric_families(text):
        suffixes = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",)}.get(family.type, ("",))
        found |= {family.name + suffix for suffix in suffixes}
    return found


async def test_the_dashboard_and_the_rules_ask_for_what_there_is_and_the_dashboard_for_all_of_it(
    tmp_path: Path,
) -> None:
    async with a_rig(tmp_path, UPSTREAMS) as rig:
        there = await names(rig)
    assert metrics([rule["expr"] for rule in rules()]) <= there
    assert metrics(shown()) <= there
    unseen = {name for name in there - metrics(shown()) if not name.endswith(("_count", "_sum"))}
    assert unseen == set()


async def test_what_the_dashboard_asks_is_answered_and_an_alert_says_what_happened(tmp_path: Path) -> None:
    installed("prometheus")
    async with a_rig(tmp_path, UPSTREAMS) as rig, watched(rig, tmp_path) as prometheus:
        await play(rig)
        host, port = rig.proxy.admin_address
        for expression in shown():
            asked = expression.replace("$instance", f"{host}:{port}").replace("$provider", ".*")
            asked = asked.replace("$__rate_interval", "1m").replace("$__interval", "1m")
            assert "$" not in asked
            if not metrics([asked]) & (ELSEWHERE | BESIDE):
                await until(lambda asked=asked: prometheus.query(asked), every=0.2, what=asked)
            else:
                await prometheus.query(asked)
        alert = await until(lambda: prometheus.firing("SlotgateSlotsReclaimed"), every=0.2)
        # How many is a guess of Prometheus as long as it has seen little.
        summary = rf"Slots of {re.escape(rig.provider)} were taken back: [1-9]"
        assert re.fullmatch(summary, alert["annotations"]["summary"])
        healths = {rule["name"]: rule["health"] for group in await prometheus.rules() for rule in group["rules"]}
        assert set(healths.values()) == {"ok"}, healths
        assert len(healths) == len(rules())


async def play(rig: Rig) -> None:
    """A refusal, an answer, a slot that is taken back, and one that waits."""
    refused = await rig.ask()
    await (await rig.up.call()).answer(429, b"{}", (("Retry-After", "0"),))
    assert (await refused.answer()).status == 429
    await rig.resume()
    await rig.at_rest()
    answered = await rig.ask()
    await rig.finish(await rig.up.call(), answered)
    stuck = await rig.ask()
    await rig.in_flight(1)
    await rig.ask()
    await rig.in_flight(2)
    await rig.line_up("waits")
    first = min((await rig.slots())["slots"], key=lambda slot: slot["grantedAt"])["id"]
    reply = await rig.admin.delete(f"/concurrency/slots/{part(rig.provider)}/{first}")
    assert reply.status == 204
    assert (await stuck.answer()).status == 504


async def test_a_prometheus_with_the_token_is_let_in(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("long-enough-to-be-a-secret")
    token.chmod(0o600)
    installed("prometheus")
    async with a_rig(tmp_path, UPSTREAMS, {"admin": {"token_file": str(token)}}, run=False) as rig:
        rig.proxy.ready_headers = (("Authorization", "Bearer long-enough-to-be-a-secret"),)
        await rig.proxy.start()
        async with watched(rig, tmp_path, authorization={"credentials_file": str(token)}) as prometheus:
            assert await prometheus.query("slotgate_config_last_reload_successful")
