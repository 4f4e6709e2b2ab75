"""The OpenAPI document says what is there: checked by hand, rule by rule of OpenAPI 3.1."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from amiral.commands.parameter import Kind, choice, many, may, option, switch, text, words
from amiral.commands.registry import Command
from amiral.commands.table import TABLE
from amiral.web.openapi import describe
from amiral.web.paths import LOOKS, Look, command_name, command_path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "http.md"


def document(rows) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(describe(rows, "1.2.3")))
    return told


DOCUMENT = document(TABLE)
OPERATIONS = [
    (path, method, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]


def walk(value):
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from walk(one)


def test_it_has_what_the_standard_requires():
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["title"] == "amiral"
    assert DOCUMENT["info"]["version"] == "1.2.3"
    assert set(DOCUMENT) <= {"openapi", "info", "servers", "security", "paths", "components"}


def test_every_reference_leads_somewhere():
    found = [node["$ref"] for node in walk(DOCUMENT) if isinstance(node, dict) and "$ref" in node]
    assert found
    for reference in found:
        node = DOCUMENT
        for name in reference.removeprefix("#/").split("/"):
            node = node[name]


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(names)) == len(names) > len(list(TABLE))
    assert all(re.fullmatch("[a-z_]+", name) for name in names)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_is_complete(path, method, operation):
    assert path.startswith("/")
    assert method in ("get", "post")
    assert operation["summary"]
    in_path = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
    assert in_path == set(re.findall(r"{(\w+)}", path))
    assert all(one["schema"] for one in operation.get("parameters", ()))
    assert "200" in operation["responses"]
    for code, response in operation["responses"].items():
        assert re.fullmatch("[1-5][0-9][0-9]", code)
        assert "$ref" in response or response["description"]
    assert ("requestBody" in operation) == (method == "post")


def test_a_command_is_described_as_the_table_declares_it():
    row = Command(
        "gate open",
        "answer a gate",
        (
            text("ID"),
            choice("ANSWER", "yes", "no"),
            may(words("NOTE")),
            option("--wait", "S", Kind.SECONDS),
            option("--number", "N", Kind.NUMBER),
            option("--profile", "P", many=True),
            switch("--now"),
        ),
    )
    post = document([row])["paths"]["/api/commands/gate/open"]["post"]
    body = post["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert body["required"] is True
    assert schema["required"] == ["id", "answer"]
    assert schema["additionalProperties"] is False
    shapes = {
        name: {key: value for key, value in shape.items() if key != "description"}
        for name, shape in schema["properties"].items()
    }
    assert shapes == {
        "id": {"type": "string"},
        "answer": {"type": "string", "enum": ["yes", "no"]},
        "note": {"type": "string"},
        "wait": {"type": "number", "minimum": 0},
        "number": {"type": "integer"},
        "profile": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "now": {"type": "boolean"},
    }
    plain = document([Command("list", "x", (many("PATH"),))])["paths"]["/api/commands/list"]
    assert plain["post"]["requestBody"]["required"] is True
    bare = document([Command("list", "x")])["paths"]["/api/commands/list"]["post"]
    assert bare["requestBody"]["required"] is False
    assert "required" not in bare["requestBody"]["content"]["application/json"]["schema"]


def test_what_no_handler_answers_is_not_described():
    paths = document([Command("status", "x")])["paths"]
    assert set(paths) == {
        *("/api/commands/status", "/api/status", "/api/events", "/api/stream"),
        *("/openapi.json", "/"),
    }


def test_other_looks_and_no_events_are_described_for_the_hub():
    looks = [Look("/api/master/status", "status"), Look("/api/master/health", "health")]
    told = json.loads(json.dumps(describe([Command("status", "x")], "1", looks, has_events=False)))
    assert set(told["paths"]) == {
        *("/api/commands/status", "/api/master/status", "/openapi.json", "/"),
    }
    assert told["paths"]["/api/master/status"]["get"]["operationId"] == "get_master_status"


def test_its_paths_are_relative_to_where_it_was_read():
    assert DOCUMENT["servers"] == [{"url": "."}]


@pytest.mark.parametrize("row", list(TABLE), ids=lambda row: row.name)
def test_a_path_leads_back_to_its_command(row):
    assert command_name(command_path(row.name).removeprefix("/api/commands/")) == row.name


def test_what_can_be_looked_at_stands_in_the_table_and_changes_nothing():
    rows = TABLE.by_name()
    for look in LOOKS:
        needed = [one.name for one in rows[look.command].parameters if one.needed]
        assert needed == re.findall(r"{(\w+)}", look.path)


def test_every_fixed_route_is_documented():
    told = REFERENCE.read_text("utf-8")
    for path in (*(look.path for look in LOOKS), "/api/events", "/api/stream", "/openapi.json"):
        assert re.search(rf"`(GET )?{re.escape(path)}[`?]", told), path


async def test_the_server_gives_it_for_what_it_carries_out(served):
    document = (await served.get("/openapi.json")).json()
    posts = {path for path in document["paths"] if path.startswith("/api/commands/")}
    offered = ("status", "workers/show", "say", "cancel", "help", "emergency-stop", "release")
    assert posts == {f"/api/commands/{name}" for name in (*offered, "events", "url")}
