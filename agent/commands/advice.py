"""What the model is told to do instead of what is refused."""

from agent.commands.tree import DECODED, DOWNLOADED

OUTSIDE = "Work on files below the project's root; what lies outside it is not yours to change."
HOME_IS_PROJECT = "The home directory is the project itself: name the files relative to the project's root."
WHOLE_PROJECT = "Name the very files inside the project that are to go, not all of it, and leave .git alone."
DEVICE = "Write to an ordinary file in the project."
HIDDEN = {
    DOWNLOADED: "There is no network here. Ask the person to put the file into the project; read it before you run it.",
    DECODED: "Write the code out in plain text, so that it can be read before it runs.",
}
OPEN_SHELL = "Run the commands you need here, each by itself; nobody else gets a shell."
ENDLESS = "Write a function that ends, and call it once."
REMOTE_HISTORY = "A person must do that outside. Make new commits instead, and say what should be pushed."
UNTRACKED = "Name the paths to clean, as in `git clean -fdx build`, or look first with `git clean -ndx`."
SERVICE = "A person must do that outside. A server that you need you can start yourself, in the background."
PROCESSES = "End only processes that you started, by their ids."
DATABASE = "A person must do that outside. For tests make a database of your own, such as a SQLite file in the project."
ELSEWHERE = "A person must do that outside: say exactly what should be stopped or deleted, and why."
TIMED_JOBS = "A person must do that outside; timed jobs do not belong to the project."
