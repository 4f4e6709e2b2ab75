"""How a project's own tests are found: by the owner's word, else by what lies there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.projects.own_tests import (
    LOOKED_AT,
    configured,
    detect,
    has_run_none,
    is_test_file,
    summarise,
)

PYTEST = ("python3", "-m", "pytest", "-q")
UNITTEST = ("python3", "-m", "unittest")
MAKE = ("make", "test")
NPM = ("npm", "test", "--silent")
CASE = "import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self): ...\n"


def found(**files):
    """Detect by files; `_` in a name stands for a dot, `__` for a slash, `-` for `_`."""
    contents = {_name(name): text for name, text in files.items()}
    return detect(set(contents), contents)


def _name(name):
    return name.replace("__", "/").replace("_", ".").replace("-", "_")


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("pytest -q", ("pytest", "-q")),
        ("  ./run tests  ", ("./run", "tests")),
        ("tool 'a b'", ("tool", "a b")),
        ("make lint && make test", ("sh", "-c", "make lint && make test")),
        ("CI=1 npm test", ("sh", "-c", "CI=1 npm test")),
        ("pytest tests/*", ("sh", "-c", "pytest tests/*")),
        ("echo $HOME", ("sh", "-c", "echo $HOME")),
        ("tool 'open", ("sh", "-c", "tool 'open")),
        ("", ()),
    ],
)
def test_the_owners_command_is_split_or_given_to_a_shell(command, argv):
    assert configured(command) == argv


@pytest.mark.parametrize("name", ["Makefile", "makefile", "GNUmakefile"])
def test_a_makefile_that_has_tests_comes_first(name):
    both = {name: "all:\n\ntest: all\n\trun\n", "package.json": '{"scripts": {"test": "x"}}'}
    assert detect(set(both), both) == MAKE


@pytest.mark.parametrize("text", ["testing: x\n", "test := 1\n", "\ttest: x\n", ".PHONY: test\n"])
def test_a_makefile_without_a_target_for_tests_tells_nothing(text):
    assert found(Makefile=text) == ()


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ('{"scripts": {"test": "jest"}}', NPM),
        ('{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', ()),
        ('{"scripts": {}}', ()),
        ('{"scripts": {"test": 1}}', ()),
        ("[]", ()),
        ("null", ()),
        ("{", ()),
        ("[" * 100_000, ()),
    ],
)
def test_a_package_has_tests_when_its_script_says_so(text, argv):
    assert found(package_json=text) == argv


def test_other_languages_are_known_by_their_files():
    assert found(Cargo_toml="") == ("cargo", "test", "--quiet")
    assert found(go_mod="") == ("go", "test", "./...")


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject_toml": "[tool.pytest.ini_options]\n"},
        {"tox_ini": "[testenv]\ncommands = pytest\n"},
        {"setup_cfg": "[tool:pytest]\n"},
        {"pytest_ini": ""},
        {"conftest_py": ""},
        {"tests__conftest_py": ""},
        {"tests__test-x_py": "def test_x(): ...\n"},
        {"test-x_py": "import pytest\n"},
        {"tests__test-x_py": "async def test_x(): ...\n"},
    ],
)
def test_pytest_is_used_where_anything_speaks_of_it(files):
    assert found(**files) == PYTEST


def test_otherwise_the_tests_of_the_standard_library_are_run_where_they_lie():
    assert found(test_py=CASE) == UNITTEST
    assert found(**{"cart_py": "", "test-cart_py": CASE}) == UNITTEST
    assert found(**{"tests__test-cart_py": CASE}) == (*UNITTEST, "discover", "-s", "tests")
    assert found(**{"test__test-cart_py": CASE}) == (*UNITTEST, "discover", "-s", "test")


@pytest.mark.parametrize(
    "files", [{}, {"README_md": "pytest"}, {"tests__cart-spec_js": ""}, {"contest_py": ""}]
)
def test_where_nothing_tells_nothing_is_guessed(files):
    assert found(**files) == ()


@given(st.dictionaries(st.sampled_from([*LOOKED_AT, "test_x.py", "tests/test_x.py"]), st.text()))
def test_any_content_is_read(contents):
    assert detect(set(contents), contents)[:1] in [(), ("make",), ("npm",), ("python3",)]


def test_files_of_tests_are_told_by_their_names():
    for name in ("test_a.py", "test.py", "tests/test_a.py", "test/test_a.py"):
        assert is_test_file(name)
    for name in ("a.py", "test_a.js", "src/test_a.py", "tests/a/test_a.py", "xtest_a.py"):
        assert not is_test_file(name)


@pytest.mark.parametrize(
    ("argv", "code", "said", "is_none"),
    [
        (PYTEST, 5, "no tests ran in 0.01s", True),
        (PYTEST, 1, "1 failed", False),
        (UNITTEST, 0, "\nRan 0 tests in 0.000s\n\nOK", True),
        (UNITTEST, 5, "NO TESTS RAN", True),
        (UNITTEST, 0, "Ran 10 tests in 0.1s", False),
        (MAKE, 5, "Ran 0 tests", False),
        (("cargo", "test", "--quiet"), 5, "", False),
    ],
)
def test_a_run_that_found_no_tests_is_no_failure(argv, code, said, is_none):
    assert has_run_none(argv, code, said) is is_none


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("....\n==== 48 passed in 2.1s ====\n", "48 passed in 2.1s"),
        ("F\n\nFAILED t.py::x\n1 failed, 47 passed in 2s", "1 failed, 47 passed in 2s"),
        ("...\n------\nRan 3 tests in 0.001s\n\nOK\n", "Ran 3 tests in 0.001s"),
        ("test result: ok. 5 passed; 0 failed\n", "test result: ok. 5 passed; 0 failed"),
        ("building\nall good\n\n", "all good"),
        ("\n = \n", ""),
        ("", ""),
    ],
)
def test_the_line_that_tells_most_is_picked(said, line):
    assert summarise(said) == line
