"""A program that uses LlamaIndex's Pinecone store:
`python llamaindex-scenario.py <url> <key>`. Leaves 218 records.
"""

import sys

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.vector_stores.pinecone import PineconeVectorStore
from pinecone import Pinecone, ServerlessSpec

URL, KEY = sys.argv[1:3]
NAME, TOPICS = "llamaindex", ["apple", "banana", "cherry", "damson"]


class Counts(BaseEmbedding):
    """Embeds a text as the number of times that each topic occurs in it."""

    def _get_text_embedding(self, text):
        return [text.count(topic) + 0.01 for topic in TOPICS]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def document(page):
    topic = TOPICS[page % 4]
    text = f"{topic} {topic if page % 8 < 4 else 'damson'} on page {page}"
    return Document(doc_id=f"page-{page:03}", text=text, metadata={"page": page, "kind": topic})


def filters(*conditions, condition=FilterCondition.AND):
    made = [MetadataFilter(key=key, operator=operator, value=value) for key, operator, value in conditions]
    return MetadataFilters(filters=made, condition=condition)


pinecone = Pinecone(api_key=KEY, host=f"{URL}/pinecone")
pinecone.create_index(NAME, dimension=4, metric="cosine", spec=ServerlessSpec(cloud="aws", region="us-east-1"))
index = pinecone.Index(NAME)


def store_in(namespace, pages):
    store = PineconeVectorStore(pinecone_index=index, namespace=namespace)
    options = {"storage_context": StorageContext.from_defaults(vector_store=store), "embed_model": Counts()}
    return store, VectorStoreIndex.from_documents([document(page) for page in pages], **options)


def search(made, text, top_k=1, **options):
    return made.as_retriever(similarity_top_k=top_k, **options).retrieve(text)


store, made = store_in("", range(240))
few = filters(("page", FilterOperator.LT, 4), ("kind", FilterOperator.EQ, "apple"))
[first] = search(made, "apple", filters=few)
assert first.node.ref_doc_id == "page-000" and first.text == "apple apple on page 0", first
assert first.metadata == {"page": 0, "kind": "apple"} and abs(first.score - 1) < 1e-3, first
late = filters(("page", FilterOperator.GTE, 220), ("page", FilterOperator.IN, [1, 2]), condition=FilterCondition.OR)
assert len(search(made, "banana", top_k=30, filters=late)) == 22
assert len(store.get_nodes(filters=late)) == 22

other, made_other = store_in("other", range(4))
assert [found.node.ref_doc_id for found in search(made_other, "damson")] == ["page-003"]
assert search(made_other, "damson", filters=filters(("page", FilterOperator.EQ, 500))) == []
stored = [item.id for page in index.list(namespace="other") for item in page]
assert len(stored) == 4 and stored[0].startswith("page-000#"), stored
other.delete_nodes(node_ids=stored[:1])
other.delete("page-001")
assert sorted(found.node.ref_doc_id for found in search(made_other, "apple", top_k=4)) == ["page-002", "page-003"]
other.clear()

store.delete_nodes(filters=late)
made.delete_ref_doc("page-000")
made.insert(document(1))
assert search(made, "banana")[0].text == "banana banana on page 1"
assert index.describe_index_stats().total_vector_count == 218
assert len(VectorStoreIndex.from_vector_store(store, embed_model=Counts()).as_retriever().retrieve("apple")) == 2
print("all")
