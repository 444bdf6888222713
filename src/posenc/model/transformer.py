"""A pre-norm Transformer, causal or not, that answers at its last tokens only."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.model.attention import Attention, Context, context
from posenc.shapes import Shape


class Block(nn.Module):
    """Attention, then a four times wider GELU network, each on a normalised residual stream."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.mlp_norm = nn.LayerNorm(shape.width)
        self.mlp = nn.Sequential(
            nn.Linear(shape.width, 4 * shape.width),
            nn.GELU(),
            nn.Linear(4 * shape.width, shape.width),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        queries: int,
        encoding: Encoding,
        context: Context,
        watch: list[Tensor] | None = None,
    ) -> Tensor:
        """(B,T,D) -> (B,Q,D), the residual stream of the last Q tokens."""
        mixed = self.attention(self.attention_norm(x), queries, encoding, context, watch)
        x = x[:, -queries:] + self.dropout(mixed)
        return x + self.dropout(self.mlp(self.mlp_norm(x)))


class Transformer(nn.Module):
    """Token embeddings, `shape.layers` blocks and an unembedding, with one positional encoding.

    `symbols` V is the size of the task's vocabulary; one more input token, `ask`, marks the places
    where an answer is wanted. `encodings` holds one encoding for all layers, or one for each.
    """

    def __init__(
        self, shape: Shape, symbols: int, encodings: Sequence[Encoding], *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.shape = shape
        self.ask = symbols
        self.embedding = nn.Embedding(symbols + 1, shape.width)
        self.encodings = nn.ModuleList(encodings)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(shape, dropout) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.unembedding = nn.Linear(shape.width, symbols)

    @property
    def encoding(self) -> Encoding:
        """The encoding that all layers share, or that of the first."""
        return cast(Encoding, self.encodings[0])

    def contexts(self, ids: Tensor, answers: int) -> list[Context]:
        """What each layer takes from (1 or B, T) position ids, whatever the tokens are."""
        found: list[Context] = []
        for layer in range(self.shape.layers):
            found.append(self._context(layer, ids, answers, found[-1] if found else None))
        return found

    def forward(
        self,
        tokens: Tensor,
        ids: Tensor,
        answers: int,
        watch: list[Tensor] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> Tensor:
        """(B,T) tokens, (1 or B, T) position ids -> (B,A,V) logits for the last A `answers` tokens.

        The last block runs on those tokens alone, with keys and values of all: nobody reads the
        others. `watch`, where given, receives each layer's (B,H,Q,T) attention weights. `contexts`
        of the same ids save making them again.
        """
        x = self.dropout(self.encoding.embed(self.embedding(tokens), ids))
        shared = None
        for layer, block in enumerate(self.blocks):
            shared = contexts[layer] if contexts else self._context(layer, ids, answers, shared)
            x = block(x, self._queries(layer, ids, answers), self._encoding(layer), shared, watch)
        return self.unembedding(self.norm(x))

    def _encoding(self, layer: int) -> Encoding:
        return cast(Encoding, self.encodings[layer % len(self.encodings)])

    def _queries(self, layer: int, ids: Tensor, answers: int) -> int:
        return answers if layer == self.shape.layers - 1 else ids.shape[1]

    def _context(self, layer: int, ids: Tensor, answers: int, before: Context | None) -> Context:
        """That of the layer `before`, unless this one asks differently."""
        encoding, queries = self._encoding(layer), self._queries(layer, ids, answers)
        if (
            before is None
            or encoding.per_layer
            or queries != self._queries(layer - 1, ids, answers)
        ):
            return context(encoding, ids, queries)
        return before
