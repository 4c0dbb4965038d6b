# What /metrics says, read as a person would who watches all replicas together.
#
# Rule 1: each replica counts what went through it, so that counts are summed; gauges say how the whole is, at each.

from collections.abc import Mapping, Sequence


def total(texts: Sequence[str], name: str, labels: Mapping[str, str]) -> float:
    """Of one replica's text each: the sum of that metric's samples with these labels; 0 where there is none."""
    told = [_sum(text, name, labels) for text in texts]
    return told[0] if f"# TYPE {name} gauge" in texts[0] else sum(told)


def _sum(text: str, name: str, labels: Mapping[str, str]) -> float:
    samples = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(float(line.rpartition(" ")[2]) for line in samples if all(want in line for want in wanted))
