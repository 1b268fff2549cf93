"""kill -9 during capture loses no acknowledged call, and what is there is whole."""

import os
import random
import signal
import subprocess
import sys
import time

from tests.host_logs import long_log, openai_pair

from agentmem import GivenEmbeddings, Memory, compress, tool_calls

SPACE = GivenEmbeddings(id="test", ndim=2)
CODE = """
import os, sys
from agentmem import GivenEmbeddings, Memory
from tests.host_logs import long_log, openai_pair
messages = long_log(openai_pair, 400)
with Memory(sys.argv[1], embedder=GivenEmbeddings(id="test", ndim=2)) as memory:
    step = int(sys.argv[2])
    os.write(1, b"ready\\n")
    for end in range(step, len(messages) + step, step):
        captured = memory.capture(messages[:end], session="s")
        os.write(1, b"%d\\n" % len(captured.ids))
"""


def test_kills_lose_no_acknowledged_turn(tmp_path):
    rng = random.Random(random.SystemRandom().randrange(10**6))
    messages = long_log(openai_pair, 400)
    folder = tmp_path / "memory"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    acknowledged = 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder), str(rng.choice((1, 7, 40)))],
            stdout=subprocess.PIPE,
            env=environment,
            cwd=os.getcwd(),
        )
        assert child.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.02, 0.8))
        child.send_signal(signal.SIGKILL)
        out, _ = child.communicate(timeout=30)
        done = [int(line) for line in out.splitlines(keepends=True) if line.endswith(b"\n")]
        acknowledged = max([acknowledged, *done])
        with Memory(folder, embedder=SPACE) as memory:
            ((held,),) = memory.sql("SELECT count(*) FROM turns")
            assert held >= acknowledged
            assert memory.verify().ok
            if held:
                # One message is one turn here: what is held is a beginning of the log, whole.
                expected = tool_calls(messages[:held])
                assert str(memory.canvas("s")) == str(compress(expected))
                for number, call in enumerate(expected, 1):
                    assert memory.expand(f"c{number}") == (call.result or "")
    assert acknowledged > 0
    with Memory(folder, embedder=SPACE) as memory:
        captured = memory.capture(messages, session="s")
        assert len(captured.ids) == len(messages) == memory.stats().turns
