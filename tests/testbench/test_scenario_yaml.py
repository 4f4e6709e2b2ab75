"""Scenarios read from YAML: every key, and every mistake with its line (R56)."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.testbench.scenario import (
    TOOLS,
    Ask,
    Error,
    Hang,
    Limit,
    Process,
    Raw,
    Say,
    Scenario,
    Turn,
    Use,
)
from amiral.testbench.scenario_yaml import parse_scenario

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "scenario.md"

WHOLE = """\
turns:
  - match: caching
    say: "Two options…"
    chunk: 5
    pause_ms: 20
  - use: {tool: write, args: {path: cart.py, text: ""}}
  - use: {tool: bash, args: {command: "pytest -q"}}
  - use: {tool: edit, args: {path: a, old: "1", new: ""}}
  - say: reading
    use: {tool: read, args: {path: 0755}}
  - ask: {worker: backend, text: no}
  - limit: {window: five_hour, resets_in_s: 3600}
  - limit: {window: weekly, utilization: 0.9}
    say: ""
  - error: {status: 529, times: 2}
  - hang: 1.5
  - raw: {bytes: "é\\n", split: [0, 3], pause_ms: 0, times: 7, to: stderr}
  - raw: {base64: /w==}
  - process: {fork: setsid, ignore: [TERM, HUP], hold_stdout: true, lives_s: 5, exit: 3}
default: {say: "10:30"}
"""


def complaints(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse_scenario(text, "f.yaml")
    return caught.value.message.split("\n")


def test_every_key_is_read_as_it_is_written():
    scenario = parse_scenario(WHOLE, "f.yaml")
    error = Turn(error=Error(529))
    assert scenario == Scenario(
        (
            Turn(match="caching", say=Say("Two options…", 5, 20)),
            Turn(use=Use("write", {"path": "cart.py", "text": ""})),
            Turn(use=Use("bash", {"command": "pytest -q"})),
            Turn(use=Use("edit", {"path": "a", "old": "1", "new": ""})),
            Turn(say=Say("reading"), use=Use("read", {"path": "0755"})),
            Turn(ask=Ask("backend", "no")),
            Turn(limit=Limit("five_hour", 3600)),
            Turn(limit=Limit("weekly", None, 0.9), say=Say("")),
            error,
            error,
            Turn(hang=Hang(1.5)),
            Turn(raw=Raw("é\n".encode(), (0, 3), 0, 7, "stderr")),
            Turn(raw=Raw(b"\xff")),
            Turn(process=Process("setsid", ("TERM", "HUP"), True, 5, 3)),
        ),
        Turn(say=Say("10:30")),
    )


def test_turns_or_default_alone_are_enough():
    assert parse_scenario("turns: [{say: a}]", "f").turns == (Turn(say=Say("a")),)
    assert parse_scenario("default: {say: a}", "f").default == Turn(say=Say("a"))


def test_byte_order_mark_and_windows_line_ends_change_nothing():
    assert parse_scenario("\ufeff" + WHOLE.replace("\n", "\r\n"), "f") == parse_scenario(WHOLE, "f")


SPEC = """\
turns:
  - say: I suggest
    spec:
      title: "Add: caching"
      problem: no
      approach: |
        First.
        ```` four
      acceptance: ["10:30", yes]
      files: [a.py]
      complexity: low
"""


def test_a_spec_is_a_fenced_block_whose_texts_come_back_as_texts():
    text = parse_scenario(SPEC, "f.yaml").turns[0].text
    said, fence, rest = text.partition("`````spec\n")
    assert (said, fence) == ("I suggest\n\n", "`````spec\n")
    body = rest.removesuffix("`````\n")
    assert yaml.load(body, Loader=yaml.BaseLoader) == {
        "title": "Add: caching",
        "problem": "no",
        "approach": "First.\n```` four\n",
        "acceptance": ["10:30", "yes"],
        "files": ["a.py"],
        "complexity": "low",
    }
    assert yaml.safe_load(body)["acceptance"] == ["10:30", "yes"]


def test_a_block_of_several_lines_is_easy_to_read():
    assert "approach: |\n  First.\n" in parse_scenario(SPEC, "f.yaml").turns[0].text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f.yaml:1: empty: a scenario has turns, a default or both"),
        ("{}", "f.yaml:1: a scenario has turns, a default or both"),
        ("[a", "f.yaml:1: expected ',' or ']', but got '<stream end>'"),
        ("a: b: c", "f.yaml:1: mapping values are not allowed here"),
        ("turns: []\n---\nturns: []", "f.yaml:2: but found another document"),
        ("turns:\n - say: \x00", "f.yaml:2: character #x0000 is not allowed here"),
        ("[" * 100_000, "f.yaml:1: nested too deeply"),
        ('"\\U00110000"', "f.yaml:1: not YAML: chr() arg not in range(0x110000)"),
        ("turns: x", "f.yaml:1: turns must be a list"),
        ("turns:\n - x", "f.yaml:2: turn must be a mapping of match, "),
        ("turns:\n - {saay: x}", "f.yaml:2: turn: unknown key saay (did you mean say?)"),
        ("turns:\n - {}", "f.yaml:2: turn does nothing"),
        ("turns:\n - match: x", "f.yaml:2: turn does nothing"),
        ("turns:\n - say: a\n   say: b", "f.yaml:3: turn: say is given twice"),
        ("turns:\n - [a]: b", "f.yaml:2: turn: unknown key (no word)"),
        ("turns:\n - say: [a]", "f.yaml:2: say must be a text"),
        ("turns:\n - say:", "f.yaml:2: say must not be empty"),
        ('turns:\n - say: "\\ud83d"', "f.yaml:2: say holds half a surrogate pair"),
        ("turns:\n - match: '['\n   say: x", "f.yaml:2: match is no regular expression"),
        ("turns:\n - match: 'a{99999999999999}'\n   say: x", "f.yaml:2: match is no regular"),
        ("turns:\n - say: x\n   chunk: 0", "f.yaml:3: chunk must be a whole number from 1 to"),
        ("turns:\n - hang: 1\n   chunk: 1", "f.yaml:2: turn: chunk and pause_ms cut what"),
        ("turns:\n - hang: soon", "f.yaml:2: hang must be a number from 0 to 86400"),
        ("turns:\n - use: {tool: rm, args: {}}", "f.yaml:2: use.tool must be one of write, edit"),
        ("turns:\n - use: {tool: bash}", "f.yaml:2: use: args is missing"),
        (
            "turns:\n - use:\n    tool: bash\n    args: {path: x}",
            "f.yaml:4: args of bash: command is missing",
        ),
        ("turns:\n - use: {tool: read, args: {path: ''}}", "f.yaml:2: path must not be empty"),
        ("turns:\n - ask: {worker: w}", "f.yaml:2: ask: text is missing"),
        (
            "turns:\n - use: {tool: read, args: {path: x}}\n   ask: {worker: w, text: x}",
            "f.yaml:2: turn: use and ask are two model calls",
        ),
        ("turns:\n - limit: {}", "f.yaml:2: limit: window is missing"),
        ("turns:\n - limit: {window: w, utilization: 2}", "f.yaml:2: utilization must be a number"),
        (
            "turns:\n - limit: {window: w}\n   ask: {worker: w, text: x}",
            "f.yaml:2: turn: a reached limit ends the turn",
        ),
        ("turns:\n - error: {}", "f.yaml:2: error: status is missing"),
        ("turns:\n - error: {status: 200}", "f.yaml:2: status must be a whole number from 400"),
        ("turns:\n - error: {status: 500, times: 0}", "f.yaml:2: times must be a whole number"),
        ("turns:\n - error: {status: 500}\n   say: x", "f.yaml:2: turn: error goes with match"),
        ("turns:\n - raw: {}", "f.yaml:2: raw needs bytes"),
        ("turns:\n - raw: {bytes: a, base64: YQ==}", "f.yaml:2: raw needs bytes"),
        ("turns:\n - raw: {base64: é}", "f.yaml:2: base64 is not valid base64"),
        ("turns:\n - raw: {bytes: ab, split: [3]}", "f.yaml:2: split must be a whole number from"),
        ("turns:\n - raw: {bytes: ab, split: [1, 1]}", "f.yaml:2: split: offsets must grow"),
        ("turns:\n - raw: {bytes: ab, times: 99999999}", "f.yaml:2: raw would write more than"),
        ("turns:\n - raw: {bytes: ab, to: file}", "f.yaml:2: to must be one of stdout, stderr"),
        ("turns:\n - process: {ignore: [KILL]}", "f.yaml:2: ignore must be one of TERM, INT, HUP"),
        ("turns:\n - process: {hold_stdout: true}", "f.yaml:2: process: hold_stdout and lives_s"),
        ("turns:\n - process: {exit: -1}", "f.yaml:2: exit must be a whole number from 0 to 255"),
        ("turns:\n - spec: {title: x}", "f.yaml:2: spec: problem is missing"),
        ("default: {match: x, say: x}", "f.yaml:1: default: unknown key match"),
        ("default: {use: {tool: read, args: {path: x}}}", "f.yaml:1: default: unknown key use"),
        ("default: {error: {status: 500, times: 2}}", "f.yaml:1: default: error.times means"),
    ],
)
def test_a_mistake_is_told_with_its_line(text, expected):
    assert any(line.startswith(expected) for line in complaints(text)), complaints(text)


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines():
    text = "default: {sey: x}\nturns:\n - hang: x\n - {}\nfoo: 1\n"
    assert [line.split(":")[1] for line in complaints(text)] == ["1", "3", "4", "5"]


def test_a_mistyped_key_of_a_screen_of_control_codes_is_shown_harmless():
    (line, *_) = complaints('turns:\n - "\\e[2J\\u202Ex": 1\n   say: x')
    assert line.startswith("f.yaml:2: turn: unknown key <U+202E>x")


def test_an_alias_that_holds_itself_ends_with_an_error():
    assert complaints("turns: &a\n - *a")[0].startswith("f.yaml:1: turn must be a mapping")


keys = st.sampled_from(
    ["turns", "default", "match", "say", "spec", "use", "ask", "limit", "error", "hang", "raw"]
    + ["process", "tool", "args", "path", "bytes", "base64", "split", "status", "times", "window"]
)
scalars = st.one_of(
    st.sampled_from(["write", "true", "TERM", "x", "", "1", "-1", "529", "[", "YQ==", *TOOLS]),
    st.integers(),
    st.text(max_size=5),
    st.none(),
    st.floats(),
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


def is_read_or_told(text: str) -> None:
    try:
        told = ""
        assert isinstance(parse_scenario(text, "f.yaml"), Scenario)
    except Invalid as error:
        told = error.message
    assert not told or all(line.startswith("f.yaml:") for line in told.split("\n"))


@given(st.fixed_dictionaries({"turns": st.lists(st.dictionaries(keys, trees, max_size=4))}))
def test_no_document_ends_in_a_traceback(tree):
    is_read_or_told(yaml.safe_dump(tree, allow_unicode=True))


@given(
    st.text(
        alphabet=st.sampled_from("turnsay:{}[]-&*!|>%@`'\"\\\n #,?~<\t\ud83d\x85\x00"), max_size=60
    )
)
def test_no_text_ends_in_a_traceback(text):
    is_read_or_told(text)


@given(st.data())
def test_a_scenario_damaged_anywhere_is_read_or_told(data):
    at = data.draw(st.integers(0, len(WHOLE)))
    length = data.draw(st.integers(0, 10))
    put = data.draw(st.text(max_size=3))
    is_read_or_told(WHOLE[:at] + put + WHOLE[at + length :])


def test_the_example_of_the_reference_page_is_a_scenario():
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    scenario = parse_scenario(example, "scenario.md")
    assert len(scenario.turns) == 7
    assert scenario.default == Turn(say=Say("ok"))
