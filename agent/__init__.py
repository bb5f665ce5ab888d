"""A coding-agent session as a library: the loop, its tools, its models and its sandbox.

It knows neither queues nor chats. Ports are singular files (`model.py`, `tool.py`, `sandbox.py`); the plugins that
implement them live in the plural folders beside them. It works alone:

    import asyncio
    from pathlib import Path
    from agent.models import load_model
    from agent.providers import resolve
    from agent.standalone import open_session

    async def main() -> None:
        model = load_model(resolve("compatible:my-model", base_url="http://127.0.0.1:8000/v1"))
        with open_session(Path("hello"), model=model, says="What is in here?") as session:
            async for event in session.run():
                print(event)

    asyncio.run(main())

The directory must be there. A run that ends with `ApprovalNeeded` goes on with `session.resume([Decision(…)])`; see
`agent.standalone` for more, such as the account that commands run under where this process is root.
"""
