"""A program that uses LangChain's Pinecone store for Python:
`python langchain-scenario.py <url> <key>`. Leaves 220 records.
"""

import asyncio
import os
import sys

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_pinecone import PineconeVectorStore
from pinecone import Pinecone, ServerlessSpec

URL, KEY = sys.argv[1:3]
NAME, TOPICS = "langchain-python", ["apple", "banana", "cherry", "damson"]


class Counts(Embeddings):
    """Embeds a text as the number of times that each topic occurs in it."""

    def embed_documents(self, texts):
        return [[text.count(topic) + 0.01 for topic in TOPICS] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def document(page):
    topic = TOPICS[page % 4]
    text = f"{topic} {topic if page % 8 < 4 else 'damson'} on page {page}"
    return Document(page_content=text, metadata={"page": page, "tags": [topic, "fruit"]})


os.environ |= {"PINECONE_API_KEY": KEY, "PINECONE_CONTROLLER_HOST": f"{URL}/pinecone"}
Pinecone().create_index(NAME, dimension=4, metric="cosine", spec=ServerlessSpec(cloud="aws", region="us-east-1"))
pages = [document(page) for page in range(240)]
ids = [f"page-{page:03}" for page in range(240)]
store = PineconeVectorStore.from_documents(pages, Counts(), index_name=NAME, ids=ids)

[(first, score)] = store.similarity_search_with_score("apple", k=1, filter={"page": {"$lt": 8}, "tags": "apple"})
assert first.id == "page-000" and first.metadata == {"page": 0, "tags": ["apple", "fruit"]}, first
assert first.page_content == "apple apple on page 0" and abs(score - 1) < 1e-3, (first, score)
assert len(store.similarity_search("banana", k=30, filter={"page": {"$gte": 220}})) == 20
[(_, relevance)] = store.similarity_search_with_relevance_scores("cherry", k=1)
assert 0.99 < relevance <= 1, relevance
diverse = store.max_marginal_relevance_search("apple", k=2, fetch_k=60, lambda_mult=0.1)
assert [found.metadata["page"] % 8 for found in diverse] == [0, 4], diverse

store.add_texts(["damson", "apple"], ids=["x", "y"], namespace="other", batch_size=1)
assert [found.id for found in store.similarity_search("damson", k=1, namespace="other")] == ["x"]
assert store.similarity_search("damson", k=1, filter={"page": 500}) == []
store.delete(ids=["x"], namespace="other")
store.delete(ids=ids[:10])
store.delete(filter={"page": {"$gte": 230}})
assert store.index.describe_index_stats().namespaces["other"].vector_count == 1
store.delete(delete_all=True, namespace="other")
assert store.index.describe_index_stats().total_vector_count == 220


async def asynchronously():
    again = PineconeVectorStore(embedding=Counts(), index_name=NAME)
    await again.aadd_texts(["banana"], ids=["z"])
    assert [found.id for found in await again.asimilarity_search("banana", k=1, filter={"text": "banana"})] == ["z"]
    assert len(await again.amax_marginal_relevance_search("banana", k=2)) == 2
    await again.adelete(ids=["z"])


asyncio.run(asynchronously())
assert PineconeVectorStore.from_existing_index(NAME, Counts()).index.describe_index_stats().total_vector_count == 220
print("all")
