"""Pure: what a folder's files tell of a project: language, framework, tests, CI, each with why."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from amiral.projects import own_tests

_MANIFESTS = (
    ("tsconfig.json", "typescript"),
    ("package.json", "javascript"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("requirements.txt", "python"),
    ("Cargo.toml", "rust"),
    ("go.mod", "go"),
    ("Gemfile", "ruby"),
    ("pom.xml", "java"),
    ("build.gradle", "java"),
    ("build.gradle.kts", "kotlin"),
    ("composer.json", "php"),
    ("mix.exs", "elixir"),
    ("Package.swift", "swift"),
    ("CMakeLists.txt", "c++"),
)
_ENDINGS = {
    "py": "python",
    "ts": "typescript",
    "tsx": "typescript",
    "js": "javascript",
    "jsx": "javascript",
    "rs": "rust",
    "go": "go",
    "rb": "ruby",
    "java": "java",
    "kt": "kotlin",
    "php": "php",
    "ex": "elixir",
    "swift": "swift",
    "cpp": "c++",
    "cc": "c++",
    "c": "c",
    "cs": "c#",
    "sh": "shell",
}
_FRAMEWORKS = (
    ("package.json", '"{}"', (("next", "next.js"), ("nuxt", "nuxt"), ("@angular/core", "angular"))),
    ("package.json", '"{}"', (("@nestjs/core", "nestjs"), ("svelte", "svelte"), ("vue", "vue"))),
    ("package.json", '"{}"', (("react", "react"), ("express", "express"), ("fastify", "fastify"))),
    ("pyproject.toml", "{}", (("django", "django"), ("fastapi", "fastapi"), ("flask", "flask"))),
    ("requirements.txt", "{}", (("django", "django"), ("fastapi", "fastapi"), ("flask", "flask"))),
    ("pyproject.toml", "{}", (("starlette", "starlette"), ("aiohttp", "aiohttp"))),
    ("Cargo.toml", "{}", (("tauri", "tauri"), ("axum", "axum"), ("actix-web", "actix"))),
    ("go.mod", "{}", (("github.com/gin-gonic/gin", "gin"), ("github.com/labstack/echo", "echo"))),
    ("Gemfile", "[\"']{}[\"']", (("rails", "rails"), ("sinatra", "sinatra"))),
    ("pom.xml", "{}", (("spring-boot", "spring boot"), ("quarkus", "quarkus"))),
    ("build.gradle", "{}", (("org.springframework.boot", "spring boot"),)),
    ("build.gradle.kts", "{}", (("org.springframework.boot", "spring boot"),)),
    ("composer.json", '"{}"', (("laravel/framework", "laravel"), ("symfony/symfony", "symfony"))),
    ("mix.exs", ":{}", (("phoenix", "phoenix"),)),
)
_TESTS = (
    ("noxfile.py", "nox"),
    ("tox.ini", "tox"),
    ("spec/spec_helper.rb", "bundle exec rspec"),
    ("Rakefile", "bundle exec rake test"),
    ("mvnw", "./mvnw -q test"),
    ("pom.xml", "mvn -q test"),
    ("gradlew", "./gradlew test"),
    ("build.gradle", "gradle test"),
    ("build.gradle.kts", "gradle test"),
    ("phpunit.xml", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "vendor/bin/phpunit"),
    ("mix.exs", "mix test"),
    ("Package.swift", "swift test"),
)
_WHY = {
    "make": "the Makefile has a target test",
    "npm": "package.json has a script test",
    "cargo": "Cargo.toml is there",
    "go": "go.mod is there",
    "python3": "there are Python tests",
}
_CI = (
    (".github/workflows/*.yml", "github actions"),
    (".github/workflows/*.yaml", "github actions"),
    (".gitlab-ci.yml", "gitlab ci"),
    (".circleci/config.yml", "circleci"),
    ("azure-pipelines.yml", "azure pipelines"),
    (".woodpecker.yml", "woodpecker"),
    (".forgejo/workflows/*.yml", "forgejo actions"),
    ("Jenkinsfile", "jenkins"),
)

TELLING = tuple(
    dict.fromkeys((*own_tests.LOOKED_AT, *(file for file, _, _ in _FRAMEWORKS), "Rakefile"))
)
"""Files at the top whose text is read; of all others the names are enough."""


@dataclass(frozen=True)
class Found:
    """One thing found, and the sentence that says why; both "" when nothing tells."""

    value: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Blueprint:
    """What an interview proposes. Nothing in it was run, and none of it is in force."""

    language: Found = Found()
    framework: Found = Found()
    test: Found = Found()
    ci: Found = Found()


def blueprint(files: Collection[str], texts: Mapping[str, str]) -> Blueprint:
    """Read a listing (`src/app.py`, relative, with slashes) and the texts of some of its files."""
    names = frozenset(files)
    return Blueprint(
        _first((*_manifests(names), *_by_endings(names))),
        _first(_frameworks(texts)),
        _first((*_detected(names, texts), *_by_test_files(names))),
        _first(_ci(sorted(names))),
    )


def _first(found: Iterable[Found]) -> Found:
    return next(iter(found), Found())


def _manifests(names: Collection[str]) -> Iterator[Found]:
    for file, language in _MANIFESTS:
        if file in names:
            yield Found(language, f"{file} is there")


def _by_endings(names: Collection[str]) -> Iterator[Found]:
    endings = (name.rpartition("/")[2].rpartition(".")[2] for name in names)
    count = Counter(_ENDINGS[ending] for ending in endings if ending in _ENDINGS)
    # Two languages of as many files are put in the order of their names.
    for language, number in sorted(count.most_common(), key=lambda one: (-one[1], one[0])):
        yield Found(language, f"{number} of its files are {language}")


def _frameworks(texts: Mapping[str, str]) -> Iterator[Found]:
    for file, written, known in _FRAMEWORKS:
        for package, framework in known:
            name = written.format(re.escape(package))
            if re.search(rf"(?<![\w-]){name}(?![\w-])", texts.get(file, ""), re.IGNORECASE):
                yield Found(framework, f"{file} names {package}")


def _detected(names: Collection[str], texts: Mapping[str, str]) -> Iterator[Found]:
    """What runs when nothing is set is proposed first."""
    near = {name for name in names if name.rpartition("/")[0] in ("", "tests", "test")}
    argv = own_tests.detect(near, texts)
    if argv and not (argv[0] == "python3" and {"noxfile.py", "tox.ini"} & near):
        yield Found(" ".join(argv), _WHY[argv[0]])


def _by_test_files(names: Collection[str]) -> Iterator[Found]:
    for file, command in _TESTS:
        if file in names:
            yield Found(command, f"{file} is there")


def _ci(names: list[str]) -> Iterator[Found]:
    for pattern, service in _CI:
        for name in names:
            if fnmatchcase(name, pattern):
                yield Found(service, f"{name} is there")
