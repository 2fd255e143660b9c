"""Texts to vectors (chapter 02)."""

from ragkit.embedding.base import Embedder, TokenEmbedder, TokenVectors, make_embedder, token_embedder, too_long
from ragkit.embedding.cache import CachedEmbedder, shared_embedder
from ragkit.embedding.hashing import HashingEmbedder
from ragkit.embedding.models import MultilingualEmbedder, SentenceTransformerEmbedder

__all__ = ["CachedEmbedder", "Embedder", "HashingEmbedder", "MultilingualEmbedder",
           "SentenceTransformerEmbedder", "TokenEmbedder", "TokenVectors", "make_embedder", "shared_embedder", "token_embedder",
           "too_long"]
