"""What the demo model understands and answers: rules, no language model. Pure; `agent.models.demo` serves it."""
