"""Pure: the OpenAPI document, written from the command table and the fixed routes."""

import re
from collections.abc import Iterable, Mapping

from amiral.commands.arguments import usage
from amiral.commands.parameter import Kind, Parameter
from amiral.commands.registry import Command
from amiral.web.paths import LOOKS, Look, command_path

Json = dict[str, object]

_TEXT: Json = {"type": "string"}
_TYPES: Mapping[Kind, Json] = {
    Kind.TEXT: _TEXT,
    Kind.WORDS: _TEXT,
    Kind.NUMBER: {"type": "integer"},
    Kind.SECONDS: {"type": "number", "minimum": 0},
    Kind.SWITCH: {"type": "boolean"},
}
_ERRORS: Mapping[str, str] = {
    "400": "what was given cannot be read",
    "401": "no token, or one that does not count",
    "403": "the caller may not, or another page asked",
    "404": "nothing by that name",
    "409": "not in this state: a stop is on, an answer was given already",
    "413": "a body over 1 MiB",
    "415": "a body that is not application/json",
    "500": "something of amiral or of the machine does not work",
    "501": "not in this version",
    "503": "amiral ends, or the project's process does not answer",
}
_WRITE_ONLY = ("413", "415")
_EVENT: Json = {
    "type": "object",
    "required": ["seq", "ts", "by", "name", "version", "payload"],
    "properties": {
        "seq": {"type": "integer"},
        "ts": {"type": "string", "format": "date-time"},
        "by": _TEXT,
        "name": _TEXT,
        "version": {"type": "integer"},
        "payload": {"type": "object"},
    },
}
_ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message", "next"],
            "properties": {"kind": _TEXT, "message": _TEXT, "next": _TEXT},
        }
    },
}
_EVENTS: Json = {
    "type": "object",
    "required": ["epoch", "last_seq", "events"],
    "properties": {
        "epoch": _TEXT,
        "last_seq": {"type": "integer"},
        "events": {"type": "array", "items": {"$ref": "#/components/schemas/Event"}},
    },
}


def describe(
    commands: Iterable[Command],
    version: str,
    looks: Iterable[Look] = LOOKS,
    *,
    has_events: bool = True,
) -> Json:
    """Describe these commands and all other routes as an OpenAPI 3.1 document."""
    offered = list(commands)
    names = {row.name: row for row in offered}
    paths: Json = {command_path(row.name): {"post": _command(row)} for row in offered}
    paths |= {
        look.path: {"get": _look(look.path, names[look.command])}
        for look in looks
        if look.command in names
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "amiral",
            "version": version,
            "description": "Workers and their projects: see docs/reference/http.md.",
        },
        "servers": [{"url": "."}],
        "security": [{"cookie": []}, {"bearer": []}],
        "paths": {**paths, **(_events() if has_events else {}), **_documents()},
        "components": {
            "schemas": {"Error": _ERROR, "Event": _EVENT, "Events": _EVENTS},
            "responses": {code: _error(told) for code, told in _ERRORS.items()},
            "securitySchemes": {
                "cookie": {"type": "apiKey", "in": "cookie", "name": "amiral_<journal>"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _command(row: Command) -> Json:
    properties = {one.name: _property(one) for one in row.parameters}
    needed = [one.name for one in row.parameters if one.needed]
    schema: Json = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
    }
    return {
        "operationId": "run_" + _identifier(row.name),
        "summary": row.help,
        "description": f"`{usage(row)}`; for: {', '.join(sorted(row.roles))}",
        "tags": ["commands"],
        "requestBody": {
            "required": bool(needed),
            "content": {"application/json": {"schema": schema}},
        },
        "responses": _responses("what the command answers with --json", {}),
    }


def _property(parameter: Parameter) -> Json:
    kind = {**_TYPES[parameter.kind]}
    if parameter.choices:
        kind["enum"] = list(parameter.choices)
    shape: Json = {"type": "array", "items": kind, "minItems": 1} if parameter.many else kind
    return {**shape, "description": parameter.usage()}


def _look(path: str, row: Command) -> Json:
    found = (
        [{"name": "id", "in": "path", "required": True, "schema": _TEXT}] if "{id}" in path else []
    )
    return {
        "operationId": "_".join(["get", *re.findall("[a-z]+", path)[1:]]),
        "summary": row.help,
        "tags": ["looking"],
        "parameters": found,
        "responses": _responses("what the command answers with --json", {}, writes=False),
    }


def _events() -> Json:
    """Describe the routes of the journal."""
    since: Json = {"name": "since", "in": "query", "schema": {"type": "integer", "minimum": 0}}
    limit: Json = {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 1000}}
    after: Json = {"name": "after", "in": "query", "schema": _TEXT}
    last: Json = {"name": "Last-Event-ID", "in": "header", "schema": _TEXT}
    events: Json = {"$ref": "#/components/schemas/Events"}
    return {
        "/api/events": _get(
            "events", "events of the journal after `since`", [since, limit], events
        ),
        "/api/stream": _get(
            "stream",
            "events as they come; a place is epoch:seq",
            [after, last],
            _TEXT,
            "text/event-stream",
        ),
    }


def _documents() -> Json:
    code: Json = {"name": "code", "in": "query", "schema": _TEXT}
    return {
        "/openapi.json": _get("openapi", "this document", [], {"type": "object"}),
        "/": _get("page", "the page; `code` is exchanged for a cookie", [code], _TEXT, "text/html"),
    }


def _get(
    name: str, told: str, parameters: list[Json], schema: Json, media: str = "application/json"
) -> Json:
    responses = _responses(told, schema, media, writes=False)
    read = {"operationId": f"read_{name}", "summary": told, "tags": ["reading"]}
    return {"get": {**read, "parameters": parameters, "responses": responses}}


def _responses(
    told: str, schema: Json, media: str = "application/json", *, writes: bool = True
) -> Json:
    good = {"description": told, "content": {media: {"schema": schema}}}
    codes = [code for code in _ERRORS if writes or code not in _WRITE_ONLY]
    return {"200": good, **{code: {"$ref": f"#/components/responses/{code}"} for code in codes}}


def _error(told: str) -> Json:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": told, "content": {"application/json": {"schema": schema}}}


def _identifier(name: str) -> str:
    return name.replace(" ", "_").replace("-", "_")
