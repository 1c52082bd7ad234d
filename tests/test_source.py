"""Reading YAML: every bad file is one sentence with its place, and nothing crashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from site_builder.errors import ContentError
from site_builder.source import plain_scalar, read


def problems(folder: Path, content: bytes | str) -> list[str]:
    (folder / "a.yaml").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ContentError) as caught:
        read(folder, "a.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_every_key_and_item_knows_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a:\n  b: 1\n  c:\n    - x\n    - y\nguide: |\n  text\n")
    document = read(tmp_path, "a.yaml")
    assert document.data == {"a": {"b": 1, "c": ["x", "y"]}, "guide": "text\n"}
    assert document.line(("a", "c", 1)) == 5
    assert document.line(("a", "nowhere", "deeper")) == 1
    assert document.text_line(("guide",)) == 7


def test_lines_with_an_accepting_comment_are_known(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1 # accepted: on purpose\nb: 2 # accepted:\n")
    assert read(tmp_path, "a.yaml").accepted == {1}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1), ("-3", -3), ("0.25", 0.25), ("true", True), ("null", None), ("~", None), ("", None),
        ("1.10", "1.10"), ("010", "010"), ("1e5", "1e5"), ("on", "on"), ("yes", "yes"), ("True", "True"),
        ("2026-01-31", "2026-01-31"), ("0x10", "0x10"), ("1_000", "1_000"), (".5", ".5"), ("nan", "nan"), ("inf", "inf"),
    ],
)  # fmt: skip
def test_scalars_keep_their_spelling_unless_it_is_canonical(written: str, value: object) -> None:
    assert plain_scalar(written) == value
    assert type(plain_scalar(written)) is type(value)


def test_a_byte_order_mark_of_utf_8_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(tmp_path, "a.yaml").data == {"a": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.yaml: the file is empty; write the recipe's keys, or remove the file"),
        ("# only a comment\n", "a.yaml: the file is empty; write the recipe's keys, or remove the file"),
        ("- a\n- b\n", "a.yaml:1: the file holds a list, but keys with values are expected at its top level"),
        ("text\n", "a.yaml:1: the file holds a single value, but keys with values are expected at its top level"),
        ("a: 1\n---\nb: 2\n", "a.yaml:2: a second document starts here; one file holds one document"),
        ("a:\n\tb: 1\n", "a.yaml:2: a tab is used for indentation; YAML takes spaces only"),
        (b"a: 1\nb: \xff\n", "a.yaml:2: it is not UTF-8 from here on; save it as UTF-8"),
        ("a: 1\n".encode("utf-16"), "a.yaml: it is encoded as UTF-16; save it as UTF-8"),
        ("a: 1\nb: \x07\n", "a.yaml:2: there is a control character (code 7); remove it"),
        ("a: !!python/object:os.system x\n",
         'a.yaml:1: the tag "!!python/object:os.system" is not allowed; write plain values'),
        ("a: *b\n", 'a.yaml:1: the alias "*b" has no anchor before it'),
        ("a: &a [*a]\n", 'a.yaml:1: the alias "*a" stands inside what it repeats; write the values out'),
        ("? " * 400 + "x", "a.yaml:1: a key here is a list or a block of keys; write text before the colon"),
        ("a: " + "{" * 500, "a.yaml:1: a key here is a list or a block of keys; write text before the colon"),
        ("a: &l [x]\n*l : 1\n", 'a.yaml:2: the alias "*l" is a key here, but repeats no text; write text'),
        ("true: a\n", 'a.yaml:1: the key "true" is not text; put it in quotes'),
        ("a: x\n? \n: b\n", "a.yaml:2: a key is missing before the colon"),
        ('a: 1\nb: "\\x07"\n', "a.yaml:2: there is a control character (code 7); remove it"),
        ("a: 1\nb: \x81\n", "a.yaml:2: there is a control character (code 129); remove it"),
        ("<<: 1\n", 'a.yaml:1: merge keys ("<<") are not understood; write the keys out'),
        ("1: a\n", 'a.yaml:1: the key "1" is not text; put it in quotes'),
        ("a: " + "[" * 60, "a.yaml:1: it is nested more than 50 levels deep; make it flatter"),
        ("[" * 100_000, "a.yaml:1: this is not YAML: exceeded maximum nesting depth; check quotes, colons and indentation"
         " here and on the line before"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence(tmp_path: Path, content: bytes | str, message: str) -> None:
    assert problems(tmp_path, content) == [message]


def test_every_duplicate_key_is_named_with_both_lines(tmp_path: Path) -> None:
    assert problems(tmp_path, "a: 1\nb: 2\na: 3\nb: 4\n") == [
        'a.yaml:3: the key "a" stands here again, first on line 1; keep one of them',
        'a.yaml:4: the key "b" stands here again, first on line 2; keep one of them',
    ]


def test_a_syntax_error_says_where_and_what_to_look_at(tmp_path: Path) -> None:
    (message,) = problems(tmp_path, 'a: 1\nb: "open\n')
    assert message.startswith("a.yaml:3: this is not YAML: ")
    assert message.endswith("; check quotes, colons and indentation here and on the line before")


def test_a_yaml_bomb_is_refused_before_it_expands(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (message,) = problems(tmp_path, "\n".join(lines))
    assert message.endswith("it expands to more than 200,000 values; use fewer aliases")


def test_aliases_nest_no_deeper_than_what_is_written_out(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 100))]
    assert problems(tmp_path, "\n".join(lines)) == ["a.yaml:50: it is nested more than 50 levels deep; make it flatter"]


def test_text_starts_below_the_key_of_a_block_and_else_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('a: "x"\nb: >\n  y\nc:\n  |\n  z\n')
    document = read(tmp_path, "a.yaml")
    assert [document.text_line((key,)) for key in "abc"] == [1, 3, 6]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(ContentError, match=r"a\.yaml: it is no regular file; put the file itself here"):
        read(tmp_path, "a.yaml")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    (message,) = problems(tmp_path, "a: " + "x" * 2_200_000)
    assert message == "a.yaml: it has 2,200,003 bytes, more than the 2,097,152 that are read; split it"


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("a: 1\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(tmp_path / "secret.yaml", inside / "a.yaml")
    with pytest.raises(ContentError, match="it is a link that leaves the content folder; put the file itself here"):
        read(inside, "a.yaml")


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match=r"a\.yaml: it cannot be read \(no such file or directory\)"):
        read(tmp_path, "a.yaml")
