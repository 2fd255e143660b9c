"""From evidence to the part of the prompt that holds it (chapter 06)."""

from ragkit.context.assemble import assemble_context
from ragkit.context.fence import enclose, free_tag
from ragkit.context.instructions import Suspicion, find_instructions
from ragkit.context.model import Context, Source
from ragkit.context.order import best_at_both_ends, best_first
from ragkit.context.tokens import count_tokens, tokens_of

__all__ = ["Context", "Source", "Suspicion", "assemble_context", "best_at_both_ends", "best_first", "count_tokens",
           "enclose", "find_instructions", "free_tag", "tokens_of"]
