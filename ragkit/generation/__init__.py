"""Writing an answer from a numbered context (chapter 07): three generators behind one protocol."""

from ragkit.generation.base import (
    NO_ANSWER,
    BackendUnavailable,
    EmptyAnswer,
    GenerationError,
    Generator,
    InvalidResponse,
    ModelUnavailable,
    RequestRejected,
    StreamInterrupted,
    TextStream,
    make_generator,
)
from ragkit.generation.extractive import ExtractiveGenerator
from ragkit.generation.local import LocalGenerator
from ragkit.generation.openai_compatible import OpenAIGenerator

__all__ = [
    "NO_ANSWER",
    "BackendUnavailable",
    "EmptyAnswer",
    "ExtractiveGenerator",
    "GenerationError",
    "Generator",
    "InvalidResponse",
    "LocalGenerator",
    "ModelUnavailable",
    "OpenAIGenerator",
    "RequestRejected",
    "StreamInterrupted",
    "TextStream",
    "make_generator",
]
