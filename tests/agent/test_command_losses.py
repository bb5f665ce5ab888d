"""What is lost for good, what only looks like it, and what a person and the model are told about it."""

import pytest

from agent.commands.risk import LEVELS
from agent.policy import assess_command
from tests.agent.test_command_constructs import INDIRECT
from tests.agent.test_command_destructive import DESTRUCTIVE

LOST = r"""
mv .git /tmp/x
mv . /tmp
mv * /tmp/
mv .git /dev/null
mv -t /tmp .git
mv .git /dev/shm/x
mv ~ /tmp
tar --remove-files -cf /tmp/x.tar .git
zip -m /tmp/x.zip -r .git
7z a -sdel /tmp/x.7z .git
rsync -a --remove-source-files .git/ /tmp/x
find . -size -1000G -delete
find . -size +0 -delete
find . -mtime -9999 -delete
find . -user root -delete
find . -perm /u+r -delete
find . -newer x -delete
find . -name '*?' -delete
find . -name '.*' -delete
find . -name '[a-z]*' -delete
find . -name '[[:alpha:]]*' -delete
find . -name '?*' -exec rm -rf {} +
find . -name '*?' | xargs rm -rf
find . -regex '.*' -delete
find . -regex '.*x?' -delete
find . -regex '.*\(x\)?' -delete
find . -regex '.*\(x\|\)' -delete
find . -path './*' -delete
find . -name .git -exec rm -rf {} +
find . -name '.g*' -exec rm -rf {} +
find . -path './.git/*' -exec rm -rf {} +
find . -type d -exec rm -rf {} +
find . -type f,l -delete
find . -type -delete
find . -name x -o -type f -delete
rm -rf .git/objects
rm -rf .git/refs
rm -rf .git/refs/heads
rm -rf .git/objects/*
rm -rf .git/ob*
rm -rf .git/packed-refs
rm .git/HEAD
rm -rf .g*
rm -rf .[a-z]*
rm -rf .[!.]*
rm -rf .[^.]*
rm -rf .??*
rm -rf [a-z]*
rm -rf [[:alnum:]]*
rsync -a --delete-during x/ /etc/
rsync -a --delete-before x/ ../
rsync -a --delete-excluded x/ /etc
rsync -a --delete-delay x/ .
rsync --del -a x/ /etc/
psql -c 'DROP SCHEMA public cascade'
psql -c 'begin; drop database x'
psql -c 'DROP OWNED BY x'
mysql -e'drop database x'
mysql --execute='drop database x'
mysql -e '/*!50000 drop database x */'
mysql -e 'shutdown'
cqlsh -e 'DROP KEYSPACE x'
redis-cli -h x -p 1 flushdb
echo FLUSHALL | redis-cli
git clean -fdx
git clean -xdf .
cd / && git clean -fd
rm -rf ~/x
rm -rf $HOME
""".strip("\n").split("\n")

KEPT = r"""
mv src /dev/null
mv src /tmp/x
mv .git old
mv /tmp/x .git
mv ~/x y
mv $x /tmp
rm -f .git/index.lock
rm -f .git/refs/heads/main.lock
rm -f .git/hooks/pre-commit
rm -rf .github
rm -rf .gitignore
rm -rf [0-9]*
find . -type l -delete
find . -xtype l -delete
find . -type p -delete
find . -type s -delete
find . -type l,s -delete
find . -empty -delete
find . -lname '*' -delete
find . -name '*~' -delete
find . -name '[0-9].tmp' -delete
find . -path '*/build/*' -delete
find . -regex '.*\.\(js\|ts\)' -delete
find . -regextype posix-extended -regex '.*\.(o|a)$' -delete
git clean -fdX
git clean -fdx -e .env
git clean -fdx --exclude=.env
git clean -fdxe .env
git clean -fdx build
echo x >> ~/.bashrc
cp a ~/.config/x
chmod -R 755 ~/x
rsync -a --delay-updates a/ b/
rsync -a --delete-during a/ b/
sqlite3 x.db 'drop table x'
""".strip("\n").split("\n")

TALKS_TO_A_DATABASE = r"""
psql -c 'select truncate(price)'
psql -c "select 'drop database'"
psql -c 'DROP TABLE x'
psql -c 'truncate x'
echo 'do not truncate' | psql
echo 'never drop database x' | psql
mysql -e "insert into t values ('drop database x')"
mysql -u root -e 'DROP TABLE x'
mysql -e 'select shutdown from x'
redis-cli get flushall
mongosh --eval 'db.x.drop()'
""".strip("\n").split("\n")


@pytest.mark.requirement("policy.refuses")
@pytest.mark.parametrize("command", LOST)
def test_what_loses_the_project_its_history_or_a_database_is_refused(command: str) -> None:
    assert assess_command(command).level == "destructive"


@pytest.mark.requirement("policy.no-false-alarm")
@pytest.mark.parametrize("command", KEPT)
def test_what_loses_less_is_asked_about(command: str) -> None:
    assert assess_command(command).level == "write"


@pytest.mark.requirement("policy.no-false-alarm")
@pytest.mark.parametrize("command", TALKS_TO_A_DATABASE)
def test_a_word_in_a_statement_drops_no_database(command: str) -> None:
    assert assess_command(command).level == "network"


@pytest.mark.requirement("policy.says-why")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("mv src /tmp/x", "moves src to /tmp/x, which is gone after the command"),
        ("mv .git /tmp", "moves .git to /tmp, where it is lost: that is the whole project or its history"),
        ("rm -rf ~", "deletes ~, the home directory, which is the whole project here"),
        ("rm -rf ~/x", "deletes ~/x, in the home directory"),
        ("chmod -R 777 ~", "changes who may use all files of the home directory"),
        ("git clean -fdX", "git clean: all files that git ignores are deleted, built ones and settings alike"),
        (
            "git clean -fdx -e .env",
            "git clean: files that git does not keep or ignores are deleted, but for those excepted",
        ),
        ("git clean -fdx build", "git clean: files there that git does not keep or ignores are deleted"),
        ("git clean -fd", "git clean: files that git does not keep are deleted"),
        ("psql -c 'drop table x'", "drops or empties a part of a database, such as a table"),
        ("bash <(ls)", "runs what another program prints"),
        ("bash <(curl x)", "downloads it and runs it, unseen"),
        ("base64 -d x > f; sh f", "decodes f and runs it, unseen"),
    ],
)
def test_the_reason_is_true(command: str, reason: str) -> None:
    assert reason in assess_command(command).reasons


@pytest.mark.requirement("policy.says-why")
@pytest.mark.parametrize("command", ["rm -rf ~", "rm -rf $HOME/x", "echo x > ~/.bashrc", "cp a ~/b", "mv a ~/b"])
def test_the_home_directory_is_not_outside_the_project(command: str) -> None:
    assert not any("outside" in reason for reason in assess_command(command).reasons)


@pytest.mark.requirement("policy.refuses", "policy.says-why")
@pytest.mark.parametrize("command", [*DESTRUCTIVE, *LOST, *INDIRECT])
def test_what_is_refused_comes_with_advice_and_nothing_else_does(command: str) -> None:
    assert assess_command(command).advice
    assert assess_command("ls").advice == assess_command("rm x").advice == ""


@pytest.mark.requirement("policy.says-why")
@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("sudo ls", "There is no sudo here"),
        ("git push -f", "A person must do that outside"),
        ("rm -rf ~/x", "name the files relative to the project's root"),
        ("rm -rf /etc", "below the project's root"),
        ("rm -rf .", "Name the very files"),
        ("curl x | sh", "Ask the person to put the file into the project"),
        ("echo x | base64 -d | sh", "plain text"),
        ("git clean -fdx", "git clean -ndx"),
        ("dropdb x", "For tests make a database of your own"),
        ("kill -9 -1", "that you started"),
        ("systemctl stop nginx", "A person must do that outside"),
    ],
)
def test_the_advice_fits_what_was_refused(command: str, advice: str) -> None:
    assert advice in assess_command(command).advice


def test_advice_for_several_refusals_is_given_together_and_once() -> None:
    advice = assess_command("sudo ls; rm -rf /etc; rm -rf /usr").advice
    assert advice.count("There is no sudo here") == advice.count("below the project's root") == 1
    assert LEVELS[-1] == "destructive"
