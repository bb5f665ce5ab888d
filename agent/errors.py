"""The exceptions of the agent library; the type tells the caller what to do.

AgentError
    ModelError
        ModelUnauthorized
        ModelRefused
            ModelContextFull
        ModelOverloaded
        ModelUnreachable
        ModelBroken
        ModelFiltered
    SandboxUnavailable
    ProjectError
        PathOutside
        FileUnsuitable
    ToolFailure
        CallForbidden
    LedgerCorrupt
"""


class AgentError(Exception):
    """Anything this library raises on purpose."""


class ModelError(AgentError):
    """The model call failed after all permitted retries; the history is unchanged and the turn may be run again.

    `detail` is one line for a person, without secrets.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ModelUnauthorized(ModelError):
    """The endpoint refused the key (401, 403): the operator must set another one."""


class ModelRefused(ModelError):
    """The endpoint refused the request itself (400, 404, 422): another try of the same request cannot help."""


class ModelContextFull(ModelRefused):
    """The conversation is longer than the model takes: make it shorter, and ask again."""


class ModelOverloaded(ModelError):
    """The endpoint is limiting or overloaded (429, 5xx): try again later."""


class ModelUnreachable(ModelError):
    """No answer at all: wrong address, no network, or a time-out."""


class ModelBroken(ModelError):
    """The endpoint answered something that is not the protocol: HTML, nothing, or a stream cut in the middle."""


class ModelFiltered(ModelError):
    """The vendor's content filter ended the answer: the same words will meet it again."""


class SandboxUnavailable(AgentError):
    """The sandbox could not be set up, so nothing was run. The message is `detail` and then `fix`, for an operator."""

    def __init__(self, detail: str, fix: str = "") -> None:
        super().__init__(f"{detail}. {fix}" if fix else detail)
        self.detail = detail
        self.fix = fix


class ProjectError(AgentError):
    """A path in the project cannot be used as asked. The message is fit for the model and for a person."""


class PathOutside(ProjectError):
    """The path leads out of the project, by itself or through a link."""


class FileUnsuitable(ProjectError):
    """What is at the path cannot be used as asked: missing, a directory, a device, too big, or binary."""


class ToolFailure(AgentError):
    """A tool could not do what was asked; the message tells the model how to mend its call."""


class CallForbidden(ToolFailure):
    """Policy refuses the call whatever a person says, so nobody is asked. The message tells the model why."""


class LedgerCorrupt(AgentError):
    """A ledger line other than a torn last one cannot be read; the conversation must not go on with a hole in it."""
