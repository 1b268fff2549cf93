"""The texts that the fast graph is tuned on, and the others that it is judged by."""

from __future__ import annotations

from typing import Final

__all__ = ["CALIBRATION_TEXTS", "SELF_TEST_TEXTS"]

#: The largest activation of each channel is taken over these.
CALIBRATION_TEXTS: Final = (
    "Deploys go to Fly.io from the main branch, never on a Friday afternoon.",
    "The user prefers tabs over spaces and short commit messages.",
    "where do we keep the staging credentials?",
    "What did Maria say about the budget for the second quarter?",
    "[8 May 2023] Caroline: I went to the support group yesterday and it was so powerful.",
    "He moved from Hanoi to Berlin in 2019, and his sister still lives in Da Nang.",
    "Return the first line of the docstring, or None if the object has no documentation.",
    "def add(self, key: str, value: bytes, *, ttl_s: float = 30.0) -> None: ...",
    "for (let i = 0; i < rows.length; i++) { total += rows[i].price * rows[i].count; }",
    "SELECT id, name FROM users WHERE created_at > '2024-01-01' ORDER BY name LIMIT 50;",
    "ERROR 2024-03-11T09:14:55Z worker-3 connection reset by peer (errno 104), retry 2 of 5",
    "Traceback (most recent call last): File \"app.py\", line 42, in main: KeyError: 'user_id'",
    "pytest tests/unit -x -q finished with 214 passed, 3 skipped in 12.41 s",
    "git rebase --onto main feature~3 feature && git push --force-with-lease",
    "https://example.org/docs/v2/guide?lang=en&page=3#install",
    "The invoice 48213 over 1,299.00 EUR is due on 30 June; please pay by bank transfer.",
    "Photosynthesis turns carbon dioxide and water into sugar and oxygen by the light of the sun.",
    "My favourite books are The Left Hand of Darkness and Invisible Cities.",
    "She said she would call back after lunch, but she never did.",
    "Never send e-mails without asking me first!!!",
    "ok",
    "stop",
    "Great!",
    "hello",
    "maybe",
    "Berlin",
    "sounds good",
    "?",
    "coffee",
    "works",
    "7",
    "haha",
    "omg",
    "winter",
    "please",
    "never",
    "fixed",
    "yes, go ahead",
    "thanks :)",
    "Bob's phone number is +49 30 1234567, and his dog is called Pixel.",
    "Người dùng thích cà phê sữa đá và làm việc vào buổi sáng.",
    "用户喜欢在晚上工作,并且用 Python 写代码。",
    "El equipo se reúne los martes a las diez para revisar los tickets abiertos.",
    "Die Besprechung wurde auf nächsten Donnerstag verschoben.",
    "the build is green again after pinning numpy to 1.26 and dropping python 3.10",
    '{"name": "search", "arguments": {"query": "rust lifetimes", "limit": 10}}',
    "| column | type | null |\n|---|---|---|\n| id | integer | no |\n| email | text | yes |",
    "1. Boil the water. 2. Add salt. 3. Cook the pasta for nine minutes. 4. Drain it.",
    "A monad is a monoid in the category of endofunctors, what's the problem?",
    "The patient reports mild headaches since Monday; blood pressure 128/82, no fever.",
    "Under the lease the tenant shall give three months' notice in writing.",
    "Our p99 latency went from 180 ms to 45 ms after we moved the cache in front of the database.",
    "Tom and Anna are planning a trip to Japan in April to see the cherry blossoms in Kyoto.",
    "I have two kids, Leo (7) and Mia (4), and we live near the park.",
    "🎉 shipped v2.0 🚀 with dark mode",
    "README.md src/main.rs Cargo.toml tests/golden/simple.mmd .github/workflows/ci.yml",
    (
        "The meeting began with a review of the open issues. The first one, about slow start-up, "
        "was traced to an import of a plotting library that nobody used any more; it was removed, "
        "and the command line now starts in a tenth of the time. The second one was harder: two "
        "workers wrote to one file, and under load a line was lost now and then. We agreed to give "
        "each worker a file of its own and to merge them at the end of the day. The third was left "
        "for next week, because the person who knows the parser best was ill. Afterwards there "
        "was cake, since "
        "the project had turned five years old on the same day, and somebody had remembered."
    ),
)

#: The fast graph must agree with the packaged one on each of these.
SELF_TEST_TEXTS: Final = (
    "We release every second Tuesday from the stable branch.",
    "which database does the billing service use",
    "My daughter Emma starts school in September.",
    "The answer must be in Vietnamese unless the question is in English.",
    "def parse(line: str) -> tuple[int, str]: return int(line[:4]), line[5:]",
    "WARN disk usage at 91 % on /dev/nvme0n1p2, cleaning old snapshots",
    "npm install failed: ERESOLVE could not resolve peer dependency react@17",
    "Volcanic soil is rich in minerals and good for growing vines.",
    "no",
    "He is allergic to peanuts and carries an injector at all times.",
    "The train leaves platform 7 at 18:42 and arrives in Vienna before midnight.",
    "Khách hàng muốn nhận báo cáo hằng tuần qua thư điện tử.",
    "下周五之前需要完成数据迁移。",
    'curl -sS -X POST localhost:8080/api/v1/jobs -d \'{"kind": "export"}\'',
    "She plays the cello in an amateur orchestra and practises every evening.",
    (
        "After the outage the team wrote down what had happened hour by hour. A certificate had "
        "run out, the alarm for it had gone to a mailbox that nobody read, and the first restart "
        "made "
        "things worse because every client connected at once. Three changes followed: certificates "
        "are renewed by a job that pages a person when it fails, clients wait a random time before "
        "they connect again, and the mailbox was closed."
    ),
)
