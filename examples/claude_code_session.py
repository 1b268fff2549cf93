"""What Claude Code and ``agentmem hook`` say to each other over two sessions.

Run it with a folder: ``python examples/claude_code_session.py memory/``. The events are those the
host sends; in real use the plugin in ``integrations/claude-code-plugin`` sends them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST = "5e1f0a52-94c7-4f0e-9a55-2f1f3c0c8a11"
SAID = [
    ("user", "Our deploys go to Hetzner now, not to Fly.io."),
    ("assistant", "Understood: deploys go to Hetzner."),
]


def hook(folder: str, **event: object) -> str:
    """Send one event; return what the host would add to the conversation."""
    done = subprocess.run(  # noqa: S603 - this interpreter and our own module
        [sys.executable, "-m", "agentmem", "hook", "-m", folder],
        input=json.dumps(event).encode(), capture_output=True, check=True,
    )  # fmt: skip
    if not done.stdout:
        return ""
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def main(folder: str) -> None:
    """Let one session end, and another one ask."""
    with tempfile.TemporaryDirectory() as project:
        transcript = Path(project) / f"{FIRST}.jsonl"
        lines = [
            {
                "type": role, "uuid": f"line-{number}", "sessionId": FIRST,
                "timestamp": f"2026-03-01T10:00:0{number}Z",
                "message": {"role": role, "content": words},
            }
            for number, (role, words) in enumerate(SAID)
        ]  # fmt: skip
        transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
        hook(folder, hook_event_name="Stop", session_id=FIRST, transcript_path=str(transcript))
    told = hook(
        folder, hook_event_name="UserPromptSubmit", session_id="second",
        prompt="Write the script for our deploys.",
    )  # fmt: skip
    print(told)


main(sys.argv[1])
