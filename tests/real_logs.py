"""Real tool logs by path: ``AGENTMEM_DATA``, else ``../shared/data`` beside the repository."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import warnings
from functools import cache
from pathlib import Path


def data_folder():
    """Return the folder of the data, whether or not it is there."""
    given = os.environ.get("AGENTMEM_DATA")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data"


@cache
def real_logs():
    """Return ``(family, calls)`` of every log; empty where the data is absent."""
    folder = data_folder() / "toollogs"
    if not folder.exists() or importlib.util.find_spec("agentmem.toollog.formats") is None:
        return []
    from agentmem.toollog.formats import tool_calls

    def text(path):
        return gzip.decompress(path.read_bytes()).decode()

    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted((folder / "openai").glob("*.jsonl.gz")):
            for line in text(path).splitlines():
                out.append(("airline", tool_calls(json.loads(line)["messages"])))
        for path in sorted((folder / "claude-code").glob("*.jsonl.gz")):
            records = [json.loads(line) for line in text(path).splitlines()]
            out.append(("claude-code", tool_calls(records)))
        for path in sorted((folder / "swe-agent").glob("*.gz")):
            out.append(("swe-agent", tool_calls(json.loads(text(path)))))
        for path in sorted((folder / "openhands").glob("*.gz")):
            out.append(("openhands", tool_calls(json.loads(text(path)))))
        for path in sorted((folder / "mcp").glob("*.gz")):
            records = [json.loads(line) for line in text(path).splitlines()]
            out.append(("mcp", tool_calls(records)))
    return out
