"""``agentmem retention``."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options
from agentmem.models import Forgotten, Retention

_SIZES = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


class _Size(click.ParamType[int]):
    name = "BYTES"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        match = re.fullmatch(r"(\d{1,15})([kmg]?)b?", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is no size such as 500000, 500k, 20M or 1G", param, ctx)
        return int(match[1]) * _SIZES[match[2]]


def describe(policy: Retention) -> str:
    """Return a policy as a line for people."""
    parts = []
    if policy.max_age is not None:
        parts.append(f"at most {policy.max_age / timedelta(days=1):g} days")
    if policy.max_bytes is not None:
        parts.append(f"at most {policy.max_bytes:,} bytes")
    return f"{policy.tier} of {policy.scope or 'the whole store'}: {', '.join(parts)}"


def shown(policies: tuple[Retention, ...], gone: Forgotten) -> str:
    """Return what the policies are and what they do, for people."""
    if not policies:
        return "no policy; set one, for instance: agentmem retention --tier L0 --max-days 90"
    counts = ", ".join(f"{count} {name}" for name, count in gone.counts.items()) or "nothing"
    verb = "would remove (run with --apply)" if gone.dry_run else "removed"
    return "\n".join([*map(describe, policies), f"{verb}: {counts}"])


@click.command("retention")
@click.option("--tier", type=click.Choice(["L0", "L1", "L2", "L3"]), help="Set its policy.")
@click.option("--max-days", type=click.FloatRange(0, 100_000), help="Older rows go.")
@click.option("--max-bytes", type=_Size(), help="The oldest rows go while there are more.")
@click.option("--none", "is_none", is_flag=True, help="Remove the policy of the tier.")
@click.option("--apply", "is_applied", is_flag=True, help="Remove rows, not only say which.")
@options
def command(
    *,
    tier: str | None,
    max_days: float | None,
    max_bytes: int | None,
    is_none: bool,
    is_applied: bool,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Let old rows go: set policies, see what they would remove, apply them."""
    is_bounded = max_days is not None or max_bytes is not None
    if tier is None and (is_bounded or is_none):
        raise click.UsageError("--max-days, --max-bytes and --none need --tier")
    if tier is not None and is_bounded == is_none:
        raise click.UsageError("--tier needs --max-days, --max-bytes or both; or --none")
    with open_memory(path, scope) as memory:
        if tier is not None:
            age = None if max_days is None else timedelta(days=max_days)
            memory.set_retention(tier, max_age=age, max_bytes=max_bytes)
        policies = memory.retention()
        gone = memory.apply_retention(dry_run=not is_applied)
    emit(
        {"policies": policies, "gone": gone},
        json_output=json_output,
        text=lambda: shown(policies, gone),
    )
