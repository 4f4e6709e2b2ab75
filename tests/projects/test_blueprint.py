"""What a folder's files tell of a project, each with its reason (S1.28)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.projects.blueprint import TELLING, Blueprint, Found, blueprint


def found(*files: str, **texts: str) -> Blueprint:
    return blueprint(files, {name.replace("_", "."): text for name, text in texts.items()})


def test_an_empty_folder_tells_nothing():
    assert found() == Blueprint(Found(), Found(), Found(), Found())


@pytest.mark.parametrize(
    ("files", "language", "reason"),
    [
        (("tsconfig.json", "package.json"), "typescript", "tsconfig.json is there"),
        (("package.json", "a.py"), "javascript", "package.json is there"),
        (("pyproject.toml",), "python", "pyproject.toml is there"),
        (("Cargo.toml",), "rust", "Cargo.toml is there"),
        (("go.mod",), "go", "go.mod is there"),
        (("Gemfile",), "ruby", "Gemfile is there"),
        (("pom.xml",), "java", "pom.xml is there"),
        (("composer.json",), "php", "composer.json is there"),
        (("src/a.rs", "src/b.rs", "x.py", "README"), "rust", "2 of its files are rust"),
        (("b.py", "a.go"), "go", "1 of its files are go"),
        (("sub/package.json", "notes.txt"), "", ""),
    ],
)
def test_the_language_is_told_by_a_manifest_or_by_most_files(files, language, reason):
    assert found(*files).language == Found(language, reason)


@pytest.mark.parametrize(
    ("file", "text", "framework"),
    [
        ("package.json", '{"dependencies": {"react": "1", "next": "2"}}', "next.js"),
        ("package.json", '{"dependencies": {"preact": "1"}}', ""),
        ("package.json", '{"devDependencies": {"@nestjs/core": "1"}}', "nestjs"),
        ("pyproject.toml", 'dependencies = ["Django>=5"]', "django"),
        ("pyproject.toml", 'dependencies = ["django-environ"]', ""),
        ("requirements.txt", "fastapi==1\n", "fastapi"),
        ("Cargo.toml", 'axum = "0.7"', "axum"),
        ("go.mod", "require github.com/gin-gonic/gin v1", "gin"),
        ("Gemfile", 'gem "rails"', "rails"),
        ("pom.xml", "<artifactId>spring-boot</artifactId>", "spring boot"),
        ("composer.json", '{"require": {"laravel/framework": "11"}}', "laravel"),
        ("README.md", "we use django", ""),
    ],
)
def test_the_framework_is_one_that_a_manifest_names(file, text, framework):
    told = blueprint([file], {file: text}).framework
    assert told.value == framework
    assert not framework or told.reason.startswith(f"{file} names ")


@pytest.mark.parametrize(
    ("files", "texts", "command"),
    [
        (("Makefile",), {"Makefile": "test:\n\tx\n"}, "make test"),
        (("package.json",), {"package.json": '{"scripts": {"test": "x"}}'}, "npm test --silent"),
        (("Cargo.toml",), {}, "cargo test --quiet"),
        (("go.mod",), {}, "go test ./..."),
        (("tests/test_a.py", "conftest.py"), {}, "python3 -m pytest -q"),
        (("noxfile.py", "conftest.py"), {}, "nox"),
        (("tox.ini",), {"tox.ini": "[testenv]\ncommands = pytest"}, "tox"),
        (("deep/down/test_a.py",), {}, ""),
        (("Gemfile", "spec/spec_helper.rb"), {}, "bundle exec rspec"),
        (("pom.xml",), {}, "mvn -q test"),
        (("mvnw", "pom.xml"), {}, "./mvnw -q test"),
        (("build.gradle", "gradlew"), {}, "./gradlew test"),
        (("phpunit.xml",), {}, "vendor/bin/phpunit"),
    ],
)
def test_the_tests_are_run_as_the_files_suggest(files, texts, command):
    told = blueprint(files, texts).test
    assert told.value == command
    assert bool(told.reason) == bool(command)


@pytest.mark.parametrize(
    ("file", "service"),
    [
        (".github/workflows/ci.yml", "github actions"),
        (".gitlab-ci.yml", "gitlab ci"),
        ("Jenkinsfile", "jenkins"),
        ("docs/.gitlab-ci.yml", ""),
    ],
)
def test_the_ci_is_told_by_its_file(file, service):
    assert found(file).ci == Found(service, f"{file} is there" if service else "")


@given(st.lists(st.text(), max_size=5), st.dictionaries(st.sampled_from(TELLING), st.text()))
def test_whatever_lies_there_is_data_and_raises_nothing(files, texts):
    blueprint([*files, *texts], texts)
