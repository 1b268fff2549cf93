"""A LangGraph agent that remembers between processes, with a scripted model: no network, no key.

Run it twice with the same folder: the second process answers from what the first one was told.

    python examples/langgraph_agent.py memory/ "Remember: my editor is Helix."
    python examples/langgraph_agent.py memory/ "Which editor do I use?"
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from agentmem.integrations.langgraph import AgentMemStore

USER = ("users", "alice")


class ScriptedModel(BaseChatModel):
    """Answers by rule, where a real agent asks a model: it repeats the best memory it is given."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, *_: Any, **__: Any
    ) -> ChatResult:
        del stop
        said = str(messages[-1].content)
        memories = str(messages[0].content).splitlines()[1:]
        if said.startswith("Remember:"):
            answer = "Noted."
        elif memories:
            answer = f"You told me: {memories[0].removeprefix('- ')}"
        else:
            answer = "I do not know that yet."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


def recall(state: MessagesState, *, store: BaseStore) -> dict[str, list[BaseMessage]]:
    """Ask the model with what the store finds for the question."""
    question = state["messages"][-1]
    found = store.search(USER, query=str(question.content), limit=3)
    memories = "\n".join(f"- {item.value['text']}" for item in found)
    prompt = SystemMessage(f"What is known of the user:\n{memories}".rstrip())
    return {"messages": [ScriptedModel().invoke([prompt, question])]}


def remember(state: MessagesState, *, store: BaseStore) -> dict[str, list[BaseMessage]]:
    """Keep what the user asked to be remembered; the same words are kept once."""
    said = str(state["messages"][0].content)
    if said.startswith("Remember:"):
        text = said.removeprefix("Remember:").strip()
        store.put(USER, hashlib.sha256(text.encode()).hexdigest()[:16], {"text": text})
    return {"messages": []}


def main() -> None:
    """Run one turn of the agent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where the memory lives")
    parser.add_argument("words", help="what the user says")
    arguments = parser.parse_args()

    graph = StateGraph(MessagesState)
    graph.add_node("recall", recall)
    graph.add_node("remember", remember)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "remember")
    graph.add_edge("remember", END)
    with AgentMemStore(arguments.folder, index={"fields": ["text"]}) as store:
        agent = graph.compile(store=store)
        result = agent.invoke({"messages": [HumanMessage(arguments.words)]})
        print(result["messages"][-1].content)


if __name__ == "__main__":
    main()
