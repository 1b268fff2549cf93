"""What the tests of the LangGraph store share."""

from langchain_core.embeddings import Embeddings

from agentmem.testing import HashEmbedder


class Hashed(Embeddings):
    """LangChain's interface over the deterministic embedder."""

    def __init__(self, ndim=64, model="hashed"):
        self.model = model
        self.inner = HashEmbedder(ndim)
        self.asked = []

    def embed_documents(self, texts):
        self.asked += texts
        return self.inner.embed(texts).tolist()

    def embed_query(self, text):
        return self.inner.embed([text])[0].tolist()


INDEX = {"dims": 64, "embed": Hashed(), "fields": ["text"]}


def keys(items):
    return [item.key for item in items]
