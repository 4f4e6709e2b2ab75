"""The value of a project's folder knows which of its files have several names."""

from amiral.permissions.folders import Entry, Folder, Kind


def folder(path, entries=(), folders=()):
    return Folder(path, (1, 1), 0, True, True, entries, folders)


def test_files_with_further_names_are_known_from_above():
    single = Entry("a", Kind.FILE, (1, 10), 1)
    shared = Entry("b", Kind.FILE, (1, 11), 2)
    inner = folder(("in",), (shared,))
    top = folder((), (single,), (inner, folder(("empty",))))
    assert top.shared == inner.shared == {(1, 11)}
    assert top.file_ids == {(1, 10)}
    assert [one.path for one in top.walk()] == [(), ("in",), ("empty",)]


def test_folders_are_the_same_only_when_they_are_one_object():
    assert folder(("a",)) != folder(("a",))
