"""The signs that the lint looks for, by kind, each found in time that grows with the text only.

All are looked for in text that is :func:`~agentmem.skills.near.folded`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentmem.skills.near import Finder, Near, words

__all__ = ["RULES"]


_FETCH = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|http)\b"
_SHELL = r"(?:/\S{0,80}/)?(?:ba|z|da|k|c|fi|a)?sh\b"
_INTERPRETER = (
    r"(?:/\S{0,80}/)?(?:python[\d.]{0,8}|perl|ruby|node|php|lua)(?=\s*(?:-(?!\w)|$|[`'\")\n;&|]))"
)
_PREFIX = (
    r"(?:sudo\s{1,8}(?:-\S{1,24}\s{1,8}){0,4}|env\s{1,8}(?:[^\s=]{1,40}=\S{0,40}\s{1,8}){0,4}"
    r"|nohup\s{1,8}|exec\s{1,8}){0,4}"
)
_PIPED = rf"\|\s{{0,80}}{_PREFIX}"
_DOWNLOAD = Near(
    words(_FETCH),
    words(r"(?:-o|-O|--output|--output-document|>)[ =]{0,8}(?P<file>[^\s;&|`'\"]{1,200})"),
    300,
)
_RUN = words(
    r"(?:chmod\s{1,8}[^\s;&|]{1,40}\s{1,8}|(?:ba|z)?sh\s{1,8}|source\s{1,8}|python\d?\s{1,8}|[;&]\s{0,8})"
    r"(?:\./)?[\"']?(?P<file>[^\s;&|`'\"]{1,200})"
)
_REACH: Final = 200


@dataclass(frozen=True, slots=True)
class _DownloadRun:
    """A file that is fetched, and run within the next 200 characters."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield from the fetching to the run."""
        fetched = [(*span, _file_of(text, *span)) for span in _DOWNLOAD.spans(text)]
        if not fetched:
            return
        place = 0
        for run in _RUN.pattern.finditer(text):
            while place < len(fetched) and fetched[place][1] < run.start() - _REACH:
                place += 1
            at = place
            while at < len(fetched) and fetched[at][1] <= run.start():
                start, _, name = fetched[at]
                if name and run["file"].startswith(name):
                    yield start, run.end()
                    break
                at += 1


def _file_of(text: str, start: int, end: int) -> str:
    """Return the file's name at the end of a fetching command."""
    tail = text[max(start, end - 240) : end]
    return re.split(r"[\s;&|`'\"=>]", tail)[-1].removeprefix("./")


_WRITE = (
    r"(?:>>?|\b(?:tee|append(?:s|ed)?|add(?:s|ed)?|write(?:s|n)?|copy|cp|mv|move|install|edit|set|modify"
    r"|update|create|put|ln|replace|change|insert|save|chmod|paste|vào|thêm)\b|\bsed -i|写入|添加)"
)
_CONFIG_FILE = (
    r"(?:(?:~|\$HOME|/root|/home/\w{1,64})?/?\.(?:bashrc|bash_profile|bash_aliases|zshrc|zprofile|zshenv"
    r"|profile|gitconfig|npmrc|netrc|pypirc|vimrc|tmux\.conf|condarc)\b"
    r"|config\.fish\b|\.claude/[\w./-]+|\.cursor/[\w./-]+|\.vscode/(?:settings|tasks)\.json|\.codex/[\w./-]+"
    r"|\b(?:CLAUDE|AGENTS|GEMINI|SOUL)\.md\b|\.cursorrules\b|\.windsurfrules\b|copilot-instructions\.md"
    r"|\.?mcp(?:_settings|_config)?\.json\b|claude_desktop_config\.json|\.git/hooks/[\w-]+"
    r"|\bauthorized_keys\b|\.ssh/config\b|/etc/(?:sudoers|passwd|shadow|hosts|cron\S*|profile\S*|ld\.so\S*"
    r"|systemd/\S*|rc\.local)|LaunchAgents/|\.config/(?:systemd|autostart)/|\bsudoers\b)"
)
_PRIVATE_FILE = (
    r"(?:(?:~|\$HOME|/root|/home/\w{1,64})/\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|config/gcloud)[\w./-]*"
    r"|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/shadow|(?<![\w/])\.env\b(?!\.example))"
)
_SENDS = (
    r"(?:curl\b|wget\b|\b(?:nc|ncat|socat|scp|rsync|dig|nslookup|upload|post|send|forward|email)\b"
    r"|\bexfiltrat\w+|\bfetch\()"
)

RULES: Final[tuple[tuple[str, tuple[Finder, ...]], ...]] = (
    (
        "pipe-to-shell",
        (
            Near(
                words(_FETCH),
                words(
                    rf"{_PIPED}(?:{_SHELL}|{_INTERPRETER}|iex\b|invoke-expression\b|\$\{{?\w{{1,80}})"
                ),
                400,
            ),
            words(
                rf"(?:{_SHELL}|source|eval|(?<![\w.])\.)\s{{1,8}}[\"']?<\(\s{{0,8}}{_FETCH}"
                rf"|(?:eval|source|{_SHELL}\s{{1,8}}-c)\s{{1,8}}[\"'`]{{0,4}}(?:\$\(|`)\s{{0,8}}{_FETCH}"
                r"|downloadstring\("
            ),
            Near(
                words(r"base(?:64|32)\s{1,8}(?:-d|-D|--decode|-di)\b"),
                words(rf"{_PIPED}(?:{_SHELL}|{_INTERPRETER})"),
                120,
            ),
            Near(
                words(r"(?:xxd\s{1,8}-r|openssl\s{1,8}enc\s{1,8}-d|gunzip|zcat|tr\s)"),
                words(r"\|\s{0,80}(?:sudo\s{1,8})?(?:ba|z)?sh\b"),
                120,
                "\n|",
            ),
            Near(
                words(r"\b(?:exec|eval|system|popen|run|compile)\("),
                words(
                    r"(?:urlopen|urlretrieve|requests\.get|httpx\.get|fetch\(|https?://|b64decode)"
                ),
                160,
            ),
            _DownloadRun(),
            Near(words(r"(?:iwr|irm)\b"), words(r"\biex\b"), 200),
        ),
    ),
    (
        "configuration",
        (
            Near(words(_WRITE), words(_CONFIG_FILE), 120),
            Near(words(_CONFIG_FILE), words(_WRITE), 40),
            Near(
                words(r"git\s{1,8}config\s{1,8}"),
                words(
                    r"(?:core\.hookspath|core\.fsmonitor|core\.sshcommand|core\.pager|alias\."
                    r"|credential\.helper|url\.\S{1,80}\.insteadof|filter\.\S{1,40}\.(?:clean|smudge))"
                ),
                40,
            ),
            words(
                r"\|\s{0,80}crontab\b|\bcrontab\s{1,8}(?:-\s|-$|-`|[\w/.]{1,200}$)|\bat\s{1,8}now\b"
                r"|\bschtasks\s{1,8}/create|\bsystemctl\s{1,8}(?:--user\s{1,8})?enable\b"
                r"|\blaunchctl\s{1,8}(?:load|bootstrap)|reg\s{1,8}add\s{1,8}\S{0,200}\\(?:Run|RunOnce)\b"
                r"|bypassPermissions|dangerously-skip-permissions|[\"']?autoApprove[\"']?\s{0,8}[:=]"
                r"|--yolo\b|\"mcpServers\"\s{0,8}:"
            ),
            Near(
                words(r"(?:set|export)\s{1,8}"),
                words(
                    r"\b(?:AUTH|VERIFY|SSL_VERIFY|NODE_TLS_REJECT_UNAUTHORIZED)\w{0,40}=(?:off|0|false)\b"
                ),
                40,
            ),
        ),
    ),
    (
        "exfiltration",
        (
            Near(words(_PRIVATE_FILE), words(_SENDS), 160),
            Near(words(_SENDS), words(_PRIVATE_FILE), 160),
            Near(
                words(r"(?<![\w.-])(?:env|printenv|set)\s{0,8}\|\s{0,8}"),
                words(r"(?:curl|wget|nc|base64|http)\b"),
                80,
            ),
            Near(
                Near(
                    words(_SENDS),
                    words(
                        r"(?:-d|--data\S{0,20}|-F|--form)\s{0,8}[\"']?@?(?:-|\$\((?:env|printenv|cat))"
                    ),
                    120,
                ),
                words(r"https?://(?!localhost|127\.)"),
                80,
            ),
            Near(
                Near(words(r"(?:dig|nslookup|host|ping)\s"), words(r"\$\("), 20),
                words(r"\)\.\w"),
                120,
            ),
            words(
                r"\bnc(?:at)?\s{1,8}(?:-\S{1,24}\s{1,8}){0,6}[\w.-]{1,200}\s{1,8}\d{2,5}\s{0,8}<"
                r"|/dev/tcp/|\bbash\s{1,8}-i\b[^\n]{0,20}>&"
            ),
            Near(
                Near(
                    words(r"\b(?:forward|send|copy|bcc)\b"),
                    words(r"\b(?:each|every|all)\b"),
                    40,
                    "\n.",
                ),
                words(r"\b[\w.+-]{1,64}@[\w.-]{1,200}\.\w"),
                40,
                "\n.",
            ),
        ),
    ),
    (
        "fence",
        (
            words(
                r"</?\s{0,8}(?:available_skills|skills?|skill_tools|system|system-reminder|instructions"
                r"|memory|user|assistant|tool_result|function_results|s)\s{0,8}>"
                r"|<\|(?:im_start|im_end|endoftext|system|user|assistant)\|>|\[/?INST\]"
            ),
        ),
    ),
)
