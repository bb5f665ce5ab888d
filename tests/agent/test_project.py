import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.beneath import Resolve, best_resolver, openat2_beneath, walk_beneath
from agent.errors import FileUnsuitable, PathOutside, ProjectError
from agent.project import Entry, Owner, Place, Project
from agent.tree import Walk, entry, list_directory

AS_ROOT = os.geteuid() == 0
ATTACKER = """
import ctypes, sys
libc = ctypes.CDLL(None)
one, other = (name.encode() for name in sys.argv[1:3])
print("swapping", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret")
    return path


@pytest.fixture(params=[openat2_beneath, walk_beneath], ids=["openat2", "walk"])
def project(root: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    """A project on either way of resolving a path."""
    root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    resolve: Resolve = request.param
    with Project(root_fd, name="project", owner=None, resolve=resolve) as opened:
        yield opened


def test_this_kernel_is_asked_to_resolve(root: Path) -> None:
    with Project.open(root) as opened:
        assert best_resolver(opened.root_fd) is openat2_beneath


# What works


def test_what_is_written_is_read_and_parents_are_made(project: Project, root: Path) -> None:
    project.write("a/b/c.txt", b"one")
    project.write("a/b/c.txt", b"two")

    assert project.read("a/b/c.txt", max_bytes=3) == b"two"
    assert (root / "a/b/c.txt").read_bytes() == b"two"
    assert [path.name for path in (root / "a/b").iterdir()] == ["c.txt"]


@pytest.mark.parametrize("path", ["f", "./f", "/project/f", "a/../f", "a//../f", "a/.././f", "f/"])
def test_spellings_of_one_path_mean_one_file(project: Project, path: str) -> None:
    project.write("f", b"x")

    assert project.read(path, max_bytes=1) == b"x"


def test_a_replaced_file_keeps_its_permission_bits_and_a_new_one_is_plain(project: Project, root: Path) -> None:
    project.write("run.sh", b"1")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o644
    (root / "run.sh").chmod(0o4755)
    project.write("run.sh", b"2")

    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755


def test_readers_never_see_half_a_file(project: Project, root: Path) -> None:
    project.write("f", b"old")
    with (root / "f").open("rb") as reader:
        project.write("f", b"new" * 1000)
        assert reader.read() == b"old"


def test_entries_are_sorted_and_say_what_they_are(project: Project, root: Path) -> None:
    project.write("b.txt", b"12345")
    project.make_directory("a/deep")
    project.make_directory("a")
    (root / "link").symlink_to("a")

    entries = project.list("")
    assert [(entry.name, entry.is_directory) for entry in entries] == [("a", True), ("b.txt", False), ("link", False)]
    assert entries[1] == Entry(name="b.txt", is_directory=False, size=5)
    assert [entry.name for entry in project.list("a")] == ["deep"]


def test_a_name_in_any_script_works(project: Project) -> None:
    project.write("目录/файл 📄.txt", b"x")

    assert project.list("目录")[0].name == "файл 📄.txt"


def test_a_name_that_is_not_utf_8_is_listed(project: Project, root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))

    assert project.list(".")[0].name == "\udcff"
    assert project.read("\udcff", max_bytes=1) == b""


@pytest.mark.requirement("setup.root")
def test_as_root_everything_written_belongs_to_the_owner(root: Path) -> None:
    if not AS_ROOT:
        return  # a plain user gives nothing away
    with Project.open(root, owner=Owner(65534, 65533)) as project:
        project.write("a/b/f", b"")

    for path in (root / "a", root / "a/b", root / "a/b/f"):
        assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


# Where a write would land


def test_a_place_is_the_path_without_detours_and_nothing_is_made(project: Project, root: Path) -> None:
    project.make_directory("a/b")
    inode = (root / "a/b").stat()

    for path in ("a/b/f", "/project/a//b/./f", "a/x/../b/f"):
        assert project.place(path) == Place(path="a/b/f", directory=(inode.st_dev, inode.st_ino))
    assert project.place("f").directory == (root.stat().st_dev, root.stat().st_ino)
    assert project.place("a/new/deep/f") == Place(
        path="a/new/deep/f", directory=(inode.st_dev, (root / "a").stat().st_ino)
    )
    assert [entry.name for entry in project.list("a")] == ["b"]


def test_a_place_follows_links_as_the_kernel_does(root: Path) -> None:
    (root / "real/deep").mkdir(parents=True)
    (root / "link").symlink_to("real/deep")
    (root / "again").symlink_to("link/../deep")
    with Project.open(root) as project:
        assert project.place("link/f").path == "real/deep/f"
        assert project.place("again/new/f").path == "real/deep/new/f"
        root.rename(root.parent / "moved")
        assert project.place("link/f").path == "real/deep/f"


def test_a_place_for_what_cannot_be_written_is_refused_as_the_write_is(project: Project, root: Path) -> None:
    project.make_directory("dir")
    (root / "nowhere").symlink_to("no")
    (root / "file-link").symlink_to("file")
    project.write("file", b"")

    for path in ("", "dir", "nowhere", "nowhere/f", "nowhere/a/f", "file-link", "file/f", "x" * 300, "a\u202eb"):
        with pytest.raises(FileUnsuitable) as on_write:
            project.write(path, b"x")
        with pytest.raises(FileUnsuitable) as on_look:
            project.place(path)
        assert str(on_look.value) == str(on_write.value)


def test_a_pre_image_stands_for_the_place_its_directory_and_the_bytes() -> None:
    place = Place(path="a/f", directory=(1, 2))
    others = [
        Place(path="a/g", directory=(1, 2)),
        Place(path="a/f", directory=(1, 3)),
        Place(path="a/f", directory=(2, 2)),
    ]

    assert place.pre_image(b"x") == Place(path="a/f", directory=(1, 2)).pre_image(b"x")
    assert len({place.pre_image(b"x"), place.pre_image(b""), place.pre_image(None)}) == 3
    assert len({each.pre_image(None) for each in (place, *others)}) == 4


def test_a_file_s_real_path_is_the_same_under_every_name(root: Path) -> None:
    (root / "real/deep").mkdir(parents=True)
    (root / "link").symlink_to("real/deep")
    (root / "real/deep/f").write_text("x")
    (root / "file-link").symlink_to("link/f")
    with Project.open(root) as project:
        for path in ("real/deep/f", "link/f", "file-link", "/project/real/../link/./f"):
            assert project.real_path(path) == "real/deep/f"
        assert project.real_path("real/deep/f") == project.place("link/f").path
        with pytest.raises(FileUnsuitable, match="does not exist"):
            project.real_path("no")


# Beginnings, removing, looking through


def test_the_beginning_of_a_file_is_read_and_no_more(project: Project, root: Path) -> None:
    project.write("f", b"12345")
    os.mkfifo(root / "pipe")

    assert [project.head("f", max_bytes=count) for count in (0, 3, 9)] == [b"", b"123", b"12345"]
    with pytest.raises(FileUnsuitable, match="named pipe"):
        project.head("pipe", max_bytes=1)


def test_files_links_and_empty_directories_are_removed_and_nothing_behind_them(project: Project, root: Path) -> None:
    project.write("a/f", b"x")
    project.make_directory("empty")
    (root / "link").symlink_to("a")
    (root / "out").symlink_to("../outside/file")
    for path in ("link", "out", "empty"):
        project.remove(path)

    assert [entry.name for entry in project.list("")] == ["a"]
    assert (root.parent / "outside" / "file").read_text() == "secret"
    with pytest.raises(FileUnsuitable, match="does not exist"):
        project.remove("no")
    with pytest.raises(ProjectError, match="not empty"):
        project.remove("a")
    with pytest.raises(FileUnsuitable, match="the project itself"):
        project.remove(".")
    project.remove("a/f")
    project.remove("a")
    assert project.list("") == ()


def test_one_entry_is_looked_at_without_following_it(project: Project, root: Path) -> None:
    project.write("a/f", b"12345")
    (root / "link").symlink_to("a/f")
    os.mkfifo(root / "pipe")

    assert entry(project, "a/f") == Entry(name="f", is_directory=False, size=5)
    assert entry(project, "link").target == "a/f"
    assert entry(project, "pipe").kind == "a named pipe"
    assert entry(project, "").is_directory
    assert entry(project, "gone") == Entry(name="gone", is_directory=False, size=0)
    with pytest.raises(FileUnsuitable):
        entry(project, "no/f")


def test_a_listing_is_bounded_sorted_and_says_when_there_is_more(project: Project) -> None:
    for name in ("z/f", "b", "a", "y/f", "hidden"):
        project.write(name, b"")

    first = list_directory(project, "", at_most=3, hidden=["hidden"])
    assert ([each.name for each in first.entries], first.total, first.whole) == (["y", "z", "a"], 4, True)
    cut = list_directory(project, ".", at_most=9, most_looked_at=2)
    assert (len(cut.entries), cut.total, cut.whole) == (2, 2, False)


def test_a_walk_enters_what_is_left_in_and_no_link(project: Project, root: Path) -> None:
    for name in ("b/c/f", "a/f", "skip/f", "f"):
        project.write(name, b"")
    (root / "link").symlink_to("a")
    os.mkfifo(root / "pipe")
    seen: dict[tuple[str, ...], list[str]] = {}
    for level in Walk(project, ""):
        seen[level.parts] = sorted(level.files)
        level.directories[:] = [name for name in level.directories if name != "skip"]

    assert seen == {(): ["f", "link"], ("a",): ["f"], ("b",): [], ("b", "c"): ["f"]}
    assert list(seen) == [(), ("a",), ("b",), ("b", "c")]
    bounded = Walk(project, "b", most_looked_at=1)
    assert [level.parts for level in bounded] == [("b",), ("b", "c")]
    assert not bounded.whole


def test_a_walk_passes_over_a_directory_that_was_swapped_for_a_link(root: Path) -> None:
    (root / "d").mkdir()
    with Project.open(root) as project:
        walk = Walk(project, "")
        for level in walk:
            assert level.parts == ()
            (root / "d").rmdir()
            (root / "d").symlink_to("../outside")

    assert walk.closed == ["d"]


# What leads out


@pytest.mark.requirement("tools.guard")
@pytest.mark.parametrize(
    "path",
    ["..", "../outside/file", "a/../../outside/file", "/etc/passwd", "/", "/projects", "/project/../x", "~/../../x"],
)
def test_dots_and_absolute_paths_lead_nowhere(project: Project, path: str) -> None:
    with pytest.raises(PathOutside):
        project.read(path, max_bytes=10)
    with pytest.raises(PathOutside):
        project.write(path, b"x")
    with pytest.raises(PathOutside):
        project.list(path)
    with pytest.raises(PathOutside):
        project.exists(path)
    with pytest.raises(PathOutside):
        project.make_directory(path)


@pytest.mark.requirement("tools.guard")
@pytest.mark.parametrize("target", ["../outside", "{absolute}", "inner/../../outside", "/proc/self/root{absolute}"])
def test_links_that_lead_out_are_not_followed(project: Project, root: Path, target: str) -> None:
    outside = root.parent / "outside"
    (root / "inner").mkdir()
    (root / "link").symlink_to(target.format(absolute=outside))
    (root / "file-link").symlink_to(f"{target.format(absolute=outside)}/file")

    for use in (
        lambda: project.read("link/file", max_bytes=10),
        lambda: project.read("file-link", max_bytes=10),
        lambda: project.write("link/new", b"x"),
        lambda: project.write("file-link", b"x"),
        lambda: project.make_directory("link/new"),
        lambda: project.list("link"),
        lambda: project.place("link/new"),
        lambda: project.place("file-link"),
        lambda: project.exists("file-link"),
    ):
        with pytest.raises(ProjectError):
            use()
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "secret"


@pytest.mark.requirement("tools.guard")
def test_a_link_out_is_told_as_such(root: Path) -> None:
    (root / "link").symlink_to("../outside/file")
    with Project.open(root) as project:
        with pytest.raises(PathOutside, match="'link' leads out of the project through a link"):
            project.read("link", max_bytes=10)
        with pytest.raises(PathOutside):
            project.write("link", b"x")


def test_links_that_stay_inside_are_read_through_but_not_written_through(root: Path) -> None:
    (root / "link").symlink_to("a/f")
    (root / "up").symlink_to("a")
    (root / "a").mkdir()
    (root / "a/back").symlink_to("../a/f")
    with Project.open(root) as project:
        project.write("up/f", b"x")
        assert project.read("link", max_bytes=1) == b"x"
        assert project.read("a/back", max_bytes=1) == b"x"
        with pytest.raises(FileUnsuitable, match="'link' is a link to 'a/f'"):
            project.write("link", b"y")


def test_a_link_to_nothing_is_not_there_and_cannot_be_written(project: Project, root: Path) -> None:
    (root / "link").symlink_to("no")
    for use in (lambda: project.read("link", max_bytes=1), lambda: project.write("link", b"")):
        with pytest.raises(FileUnsuitable):
            use()
    with pytest.raises(FileUnsuitable):
        project.write("link/f", b"")
    assert [path.name for path in root.iterdir()] == ["link"]


def test_a_link_in_the_project_s_own_place_is_not_opened(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root.parent / "outside")

    for path in (link, root / "no", root.parent / "outside" / "file"):
        with pytest.raises(FileUnsuitable):
            Project.open(path)


@pytest.mark.requirement("tools.guard")
def test_a_project_moved_away_stays_the_same_directory(project: Project, root: Path) -> None:
    root.rename(root.parent / "moved")
    root.symlink_to(root.parent / "outside")
    project.write("f", b"x")

    assert [entry.name for entry in project.list("")] == ["f"]
    assert not (root / "f").exists()


@pytest.mark.requirement("tools.guard")
def test_no_rename_race_leads_out(project: Project, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/file").write_text("inside")
    (root / "link").symlink_to("../outside")
    attacker = subprocess.Popen(
        [sys.executable, "-c", ATTACKER, str(root / "d"), str(root / "link")], stdout=subprocess.PIPE
    )
    tried = read = written = 0
    try:
        assert attacker.stdout is not None
        attacker.stdout.readline()
        end = time.monotonic() + 1.0
        while tried < 20_000 or time.monotonic() < end:
            tried += 1
            try:
                assert project.read("d/file", max_bytes=100) == b"inside"
                read += 1
                if tried % 500 == 0:
                    project.write("d/written", b"x")
                    written += 1
            except ProjectError:
                continue
    finally:
        attacker.kill()
        attacker.communicate()

    assert 0 < read < tried
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["file"]


# What cannot be used


def test_a_named_pipe_is_refused_and_not_waited_for(project: Project, root: Path) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(FileUnsuitable, match="'pipe' is a named pipe"):
        project.read("pipe", max_bytes=1)
    with pytest.raises(FileUnsuitable, match="'pipe' is a named pipe"):
        project.write("pipe", b"x")


def test_sockets_directories_and_missing_files_are_refused_kindly(project: Project, root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
    project.make_directory("dir")

    for path, message in {"socket": "socket", "dir": "is a directory", "no": "does not exist", "": "directory"}.items():
        with pytest.raises(FileUnsuitable, match=message):
            project.read(path, max_bytes=1)
    for path in ("socket", "dir", "", "."):
        with pytest.raises(FileUnsuitable):
            project.write(path, b"x")
    project.write("file", b"")
    for use in (
        lambda: project.list("file"),
        lambda: project.make_directory("file"),
        lambda: project.write("file/f", b""),
    ):
        with pytest.raises(FileUnsuitable, match="not a directory"):
            use()


def test_a_device_is_refused(root: Path) -> None:
    with Project.open(Path("/dev")) as devices, pytest.raises(FileUnsuitable, match="device"):
        devices.read("zero", max_bytes=10)


def test_a_file_is_capped_by_what_is_read_and_not_by_its_stated_size(project: Project, root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(100 << 30)
    project.write("fits", b"12345")

    assert project.read("fits", max_bytes=5) == b"12345"
    for path, limit in {"fits": 4, "sparse": 1000}.items():
        with pytest.raises(FileUnsuitable, match=f"larger than {limit:,} bytes"):
            project.read(path, max_bytes=limit)


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "d/" * 200 + "f", "x/" + "y" * 5000, "\ud800"])
def test_impossible_names_are_refused(project: Project, path: str) -> None:
    for use in (lambda: project.read(path, max_bytes=1), lambda: project.write(path, b"")):
        with pytest.raises(FileUnsuitable) as told:
            use()
        assert len(str(told.value)) < 400


@pytest.mark.requirement("approval.whole")
@pytest.mark.parametrize(
    "char", ["\n", "\t", "\x1b", "\x7f", "\u202e", "\u200b", "\u2028", "\u2029", "\ufeff", "\udcff"]
)
def test_a_name_with_a_character_nobody_sees_can_be_read_but_not_written(
    project: Project, root: Path, char: str
) -> None:
    (root / f"a{char}b").write_bytes(b"x")

    assert project.read(f"a{char}b", max_bytes=1) == b"x"
    for use in (
        lambda: project.write(f"a{char}b", b"y"),
        lambda: project.write(f"d{char}/f", b"y"),
        lambda: project.make_directory(f"d{char}"),
    ):
        with pytest.raises(FileUnsuitable, match=rf"cannot be seen \(U\+{ord(char):04X}\)") as told:
            use()
        assert char not in str(told.value)
    assert len(list(root.iterdir())) == 1


def test_a_write_that_fails_leaves_nothing(project: Project, root: Path) -> None:
    (root / "f").mkdir()
    with pytest.raises(FileUnsuitable):
        project.write("f", b"x")

    assert [path.name for path in root.iterdir()] == ["f"]


def test_closing_twice_is_harmless(root: Path) -> None:
    project = Project.open(root, name="shown")
    project.close()
    project.close()

    assert (project.name, project.root_fd) == ("shown", -1)
