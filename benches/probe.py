"""What a fresh process pays: ``python -m benches.probe KIND FOLDER NDIM`` prints one JSON object.

KIND is ``open`` (open an existing memory and recall once, imports done before), ``text`` (all from
import to the first hits of a question) or ``import``.
CPU is that of all threads of the process, memory is resident beyond that of the imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["probe"]

ROOT = Path(__file__).resolve().parents[1]


def probe(kind: str, *arguments: object) -> dict[str, Any]:
    """Run this module in a fresh interpreter, beside the same agentmem; return what it printed."""
    import agentmem

    package = Path(str(agentmem.__file__)).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "benches.probe", kind, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    if done.returncode:
        raise RuntimeError(f"the probe {kind!r} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def open_memory(folder: str, ndim: str) -> dict[str, Any]:
    import apsw  # noqa: F401 - imports are not part of what is measured
    import numpy as np
    from benches.measure import resident_mb

    import agentmem
    from agentmem import _native  # noqa: F401

    embedder = agentmem.GivenEmbeddings(id="bench", ndim=int(ndim))
    vector = np.zeros(int(ndim), dtype=np.float32)
    vector[0] = 1
    # Whatever a module imports only at its first use is there before the clock starts.
    with agentmem.Memory(Path(folder).parent / "warm", embedder=embedder) as memory:
        memory.remember("warm", embedding=vector)
        memory.recall("warm", embedding=vector)
    before = resident_mb()
    cpu, wall = time.process_time(), time.perf_counter()
    memory = agentmem.Memory(folder, embedder=embedder)
    hits = memory.recall("bavax kafek", k=10, embedding=vector)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    for _ in range(100):
        memory.recall("bavax kafek", k=10, embedding=vector)
    result = {
        "open_cpu_ms": round(cpu * 1e3, 2),
        "open_wall_ms": round(wall * 1e3, 2),
        "rss_mb": round(resident_mb() - before, 1),
        "hits": len(hits),
    }
    memory.close()
    return result


def import_alone() -> dict[str, Any]:
    cpu = time.process_time()
    import agentmem  # noqa: F401

    cpu = time.process_time() - cpu
    heavy = sorted({"numpy", "apsw", "onnxruntime", "tokenizers"} & set(sys.modules))
    return {"import_cpu_ms": round(cpu * 1e3, 2), "heavy": heavy}


def first_text(folder: str) -> dict[str, Any]:
    cpu = time.process_time()
    import agentmem

    with agentmem.Memory(folder) as memory:
        hits = memory.recall("where is the configuration read?")
        cpu = time.process_time() - cpu
    return {"text_cpu_ms": round(cpu * 1e3, 1), "hits": len(hits)}


if __name__ == "__main__":
    verbs = {"open": open_memory, "import": import_alone, "text": first_text}
    json.dump(verbs[sys.argv[1]](*sys.argv[2:]), sys.stdout)
