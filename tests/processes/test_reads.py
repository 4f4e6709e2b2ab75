"""What is granted for reading leaves the hidden folders out, and nothing else."""

from amiral.processes.reads import reads_around


def test_without_anything_hidden_all_may_be_read():
    assert reads_around(()) == ("/",)


def test_only_the_way_to_a_hidden_folder_is_named_entry_by_entry(tmp_path):
    home = tmp_path / "home"
    for name in ("secret/deep", "code/shop", "docs"):
        (home / name).mkdir(parents=True)
    (home / "link").symlink_to(home / "secret")
    found = reads_around([home / "secret", home / "code" / "shop"])
    ours = [path for path in found if path.startswith(str(home))]
    assert ours == [str(home / "docs")]
    assert str(tmp_path) not in found
    assert "/usr" in found or "/" not in found


def test_a_hidden_folder_is_hidden_under_every_name_of_it(tmp_path):
    (tmp_path / "home" / "secret").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "home")
    found = reads_around([tmp_path / "alias" / "secret"])
    assert not any(path.startswith(str(tmp_path / "home")) for path in found)


def test_what_is_not_there_yet_is_hidden_too(tmp_path):
    (tmp_path / "kept").mkdir()
    found = reads_around([tmp_path / "later"])
    assert str(tmp_path / "kept") in found
    assert str(tmp_path) not in found
