"""SKILL.md folders: exact, strict, and never outside themselves."""

import os
import zipfile

import pytest
from tests.strict_skill_md import problems

from agentmem.errors import InvalidInputError
from agentmem.models.skills import Draft, SkillVersion
from agentmem.skills.lint import MAX_FILE, check_draft
from agentmem.skills.skill_md import dump, export_skill, parse, read_skill, read_skills

HEAD = "---\nname: a-skill\ndescription: Does a thing. Use for things.\n---\n"


def version_of(draft):
    return SkillVersion(
        id="skill:1",
        name=draft.name,
        version=1,
        state="approved",
        owner="ann",
        author="ann",
        scope="",
        hash="0",
        description=draft.description,
        body=draft.body,
        resources=draft.resources,
        metadata=draft.metadata,
    )


def draft(**more):
    return Draft(
        **{
            "name": "a-skill",
            "description": "Does: a thing. Use for 'things'.",
            "body": "# Hi\n",
            **more,
        }
    )


DRAFTS = [
    draft(),
    draft(body=""),
    draft(body="---\nnot: a head\n---\n\r\nmixed\rends"),
    draft(description="yes"),
    draft(
        description="1.0 # no comment: 'quotes' \"and\" more\nsecond line \u2028 Tiếng Việt 部署 🚀"
    ),
    draft(
        resources={
            "scripts/run.sh": b"#!/bin/sh\n",
            "assets/x/y.bin": bytes(range(256)),
            "references/a.md": b"",
        }
    ),
    draft(
        metadata={
            "team": "data",
            "version": "2",
            "agentmem.x": "plain",
            "procedure": {"steps": [1, None, "é"]},
        }
    ),
    draft(
        metadata={
            "frontmatter": {
                "license": "MIT",
                "compatibility": "needs git",
                "allowed-tools": "Bash(git:*) Read",
            },
            "n": 3,
            "on": True,
        }
    ),
]


@pytest.mark.parametrize("given", DRAFTS)
def test_export_is_valid_and_comes_back_equal(tmp_path, given):
    folder = export_skill(version_of(given), tmp_path / "out")
    assert folder == tmp_path / "out" / given.name
    assert problems(folder) == []
    assert read_skill(folder) == given
    assert read_skills(tmp_path / "out") == [given]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [given.name]
    for base, folders, files in os.walk(folder):
        assert all(os.stat(os.path.join(base, f)).st_mode & 0o777 == 0o600 for f in files)
        assert all(os.stat(os.path.join(base, f)).st_mode & 0o777 == 0o700 for f in folders)


def test_export_again_is_nothing_and_over_something_else_is_refused(tmp_path):
    folder = export_skill(version_of(draft()), tmp_path)
    assert export_skill(version_of(draft()), tmp_path) == folder
    with pytest.raises(InvalidInputError, match="exists"):
        export_skill(version_of(draft(body="other")), tmp_path)
    assert read_skill(folder) == draft()


def test_windows_line_ends_and_a_mark_are_read():
    got = parse("\ufeff" + HEAD.replace("\n", "\r\n") + "body\r\n")
    assert (got.name, got.body) == ("a-skill", "body\r\n")


def test_a_list_of_tools_is_read_as_text():
    got = parse(HEAD.replace("\n---\n", "\nallowed-tools: [Read, Bash]\n---\n"))
    assert got.metadata == {"frontmatter": {"allowed-tools": "Read Bash"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# no head",
        "---\nname: a-skill\n",
        "---\nname: a-skill\n---\n",
        "---\n- list\n---\n",
        "---\nname: [a]\ndescription: b\n---\n",
        "---\nname: A-Skill\ndescription: b\n---\n",
        "---\nname: a--skill\ndescription: b\n---\n",
        "---\nname: a-skill-\ndescription: b\n---\n",
        f"---\nname: {'a' * 65}\ndescription: b\n---\n",
        f"---\nname: a-skill\ndescription: {'b' * 1025}\n---\n",
        "---\nname: a-skill\ndescription: ' '\n---\n",
        HEAD.replace("\n---\n", "\nhooks: x\n---\n"),
        HEAD.replace("\n---\n", "\nname: other\n---\n"),
        HEAD.replace("\n---\n", "\nmetadata: {a: [b]}\n---\n"),
        HEAD.replace("\n---\n", "\nmetadata: text\n---\n"),
        HEAD.replace("\n---\n", "\nlicense: !!python/object:x y\n---\n"),
        HEAD.replace("\n---\n", "\nlicense: &a b\nmetadata: {c: *a}\n---\n"),
        HEAD.replace("\n---\n", f"\nlicense: {'[' * 500}\n---\n"),
        HEAD.replace("\n---\n", f"\ncompatibility: {'x' * 501}\n---\n"),
        HEAD.replace("\n---\n", "\n\tlicense: tab\n---\n"),
        HEAD + "\0",
        HEAD + "x" * 100_001,
    ],
)
def test_what_is_no_skill_is_refused(text):
    with pytest.raises(InvalidInputError):
        parse(text)


BAD_PATHS = [
    "run.sh",
    "../x",
    "scripts/../x",
    "scripts//x",
    "/scripts/x",
    "scripts/",
    "scripts/.",
    "scripts\\x",
    "scripts/a\0",
    "scripts/a:b",
    "scripts/con",
    "scripts/LPT1.txt",
    "scripts/ a",
    "scripts/a.",
    "scripts/-rf",
    "bin/x",
    "scripts/a\u202eb",
    "scripts/" + "a" * 300,
    "scripts/e\u0301",
    "C:/x",
    "",
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_paths_that_no_resource_may_have(path):
    with pytest.raises(InvalidInputError, match="resource"):
        check_draft(draft(resources={path: b""}))


@pytest.mark.parametrize(
    "resources",
    [
        {"assets/a": b"x" * (MAX_FILE + 1)},
        {f"assets/{n}": b"" for n in range(257)},
        {f"assets/{n}": bytes(MAX_FILE) for n in range(9)},
        {"assets/A": b"", "assets/a": b""},
        {"assets/a": "text"},
    ],
)
def test_resources_are_bounded(resources):
    with pytest.raises(InvalidInputError):
        check_draft(draft(resources=resources))


def skill_folder(path):
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(HEAD + "body\n")
    return path


@pytest.mark.parametrize("where", ["SKILL.md", "references/x.md", "assets", "../link"])
def test_links_are_never_followed(tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(HEAD)
    folder = skill_folder(tmp_path / "in" / "a-skill")
    if where == "../link":
        (tmp_path / "in" / "link").symlink_to(outside)
        with pytest.raises(InvalidInputError):
            read_skill(tmp_path / "in" / "link")
        with pytest.raises(InvalidInputError):
            read_skills(tmp_path / "in")
        return
    target = folder / where
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    target.symlink_to(outside / "SKILL.md" if "." in where else outside)
    with pytest.raises(InvalidInputError, match="links"):
        read_skill(folder)


def test_a_pipe_does_not_hang_the_import(tmp_path):
    folder = skill_folder(tmp_path / "a-skill")
    (folder / "assets").mkdir()
    os.mkfifo(folder / "assets" / "pipe")
    with pytest.raises(InvalidInputError, match="plain file"):
        read_skill(folder)


def test_the_folder_must_have_the_skills_name(tmp_path):
    with pytest.raises(InvalidInputError, match="other"):
        read_skill(skill_folder(tmp_path / "other"))


def test_an_exec_bit_is_not_carried_over(tmp_path):
    folder = skill_folder(tmp_path / "a-skill")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    out = export_skill(version_of(read_skill(folder)), tmp_path / "out")
    assert problems(out) == []


@pytest.mark.parametrize("path", ["nothing", "empty"])
def test_no_skill_is_said(tmp_path, path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError):
        read_skills(tmp_path / path)


def zipped(path, entries, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content, *mode in entries:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = compression
            if mode:
                info.external_attr = mode[0] << 16
            archive.writestr(info, content)
    return path


def test_a_zip_is_read_without_unpacking(tmp_path):
    path = zipped(
        tmp_path / "s.zip",
        [
            ("a-skill/", ""),
            ("a-skill/SKILL.md", HEAD + "b"),
            ("a-skill/scripts/x.py", "print()", 0o100755),
            ("__MACOSX/x", "junk"),
        ],
    )
    assert read_skills(path) == [
        Draft(
            name="a-skill",
            description="Does a thing. Use for things.",
            body="b",
            resources={"scripts/x.py": b"print()"},
        )
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.zip"]


@pytest.mark.parametrize(
    "entries",
    [
        [("a-skill/SKILL.md", HEAD), ("../x", "y")],
        [("a-skill/SKILL.md", HEAD), ("/tmp/x", "y")],
        [("a-skill/SKILL.md", HEAD), ("a-skill/scripts/../../x", "y")],
        [("a-skill/SKILL.md", HEAD), ("a-skill\\..\\x", "y")],
        [("a-skill/SKILL.md", HEAD), ("C:\\x", "y")],
        [("a-skill/SKILL.md", HEAD), ("a-skill/assets/link", "/etc/passwd", 0o120777)],
        [("a-skill/SKILL.md", HEAD), ("a-skill/assets/big", "0" * 900_000)],
        [("a-skill/SKILL.md", HEAD), ("a-skill/SKILL.md", HEAD)],
        [("SKILL.md", HEAD)],
        [("other/SKILL.md", HEAD)],
        [("a-skill/readme.txt", "x")],
        [],
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_bad_zips_are_refused(tmp_path, entries):
    with pytest.raises(InvalidInputError):
        read_skills(zipped(tmp_path / "s.zip", entries))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.zip"]


def test_no_zip_at_all_is_said(tmp_path):
    (tmp_path / "s.zip").write_bytes(b"PK\x03\x04 rubbish")
    with pytest.raises(InvalidInputError, match="no zip"):
        read_skills(tmp_path / "s.zip")


@pytest.mark.parametrize("metadata", [{"a": {1, 2}}, {"a": float("nan")}, {3: "x"}])
def test_metadata_must_be_json(metadata):
    with pytest.raises(InvalidInputError, match="metadata"):
        dump(draft(metadata=metadata))
