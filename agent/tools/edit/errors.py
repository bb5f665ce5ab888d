"""Why a passage cannot be replaced, in words that tell the model how to call again."""

from collections.abc import Sequence

from agent.errors import ToolFailure
from agent.paths import named
from agent.visible import quoted


class EditError(ToolFailure):
    """The passage cannot be replaced; the message tells how to call again."""


def empty() -> EditError:
    """For an `old_text` without a character."""
    return EditError("old_text is empty. Give the passage to replace; write_file makes and fills files.")


def left_out(line: str) -> EditError:
    """For new text with a line that stands for what was left out."""
    return EditError(
        f"The line {quoted(line)} of new_text stands for code that is left out, and would take its place in the file. "
        "Write the code out, or choose a shorter old_text that does not reach over it."
    )


def no_change() -> EditError:
    """For an edit after which the text would be what it is."""
    return EditError("No change: old_text and new_text are the same, or new_text is what is there already.")


def not_found(path: str, nearest: str) -> EditError:
    """For a passage that is nowhere; `nearest` tells what looks like it and may be empty."""
    advice = "It must match exactly, with its indentation; if you gave it from memory, read the file again."
    return EditError("\n".join(filter(None, [f"old_text was not found in {_place(path)}. {advice}", nearest])))


def several(path: str, lines: Sequence[int], *, whole: bool, exact: bool, numbered: bool) -> EditError:
    """For a passage that is in more than one place; `lines` are where, and not all of them unless `whole`.

    It says so when the passage is not `exact` there, or only without its line numbers (`numbered`).
    """
    place = _place(path)
    count = f"{len(lines)} times" if whole else f"at least {len(lines)} times"
    where = f"at lines {', '.join(map(str, lines[:3]))}{' and more' if len(lines) > 3 else ''}"
    if numbered:
        what = f"old_text was not found in {place} as given; without its line numbers it is there {count}, {where}."
    elif exact:
        what = f"old_text is not unique: it is {count} in {place}, {where}."
    else:
        what = f"old_text is not exactly in {place}, but {count} with other blanks or typographic signs, {where}."
    advice = "Give more of the lines around it so that it is unique, or set replace_all to true"
    return EditError(f"{what} {advice}{'.' if exact and not numbered else ', which needs the exact text.'}")


def too_large(path: str, most: int) -> EditError:
    """For a replacement that would make far too much of the text."""
    return EditError(f"With new_text in all places, {_place(path)} would have more than {most:,} characters.")


def too_many(path: str, most: int) -> EditError:
    """For more places than are replaced in one call."""
    return EditError(f"old_text is more than {most:,} times in {_place(path)}. Give a longer passage.")


def _place(path: str) -> str:
    return named(path) if path else "the text"
