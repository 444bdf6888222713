"""The dimensions that every part of a Transformer shares, and the letters they are written with.

B batch, T tokens (Q when only some of them ask), H heads, K width of a head, D width of the
residual stream, V symbols of the vocabulary.
"""

from dataclasses import dataclass

from posenc.errors import ConfigError


@dataclass(frozen=True)
class Shape:
    """Dimensions of a Transformer: `width` D, `heads` H, `layers`, and whether it is `causal`.

    Raises ConfigError where the width cannot be cut into that many heads.
    """

    width: int
    heads: int
    layers: int
    causal: bool

    def __post_init__(self) -> None:
        for key in ("width", "heads", "layers"):
            if getattr(self, key) < 1:
                raise ConfigError(f"model.{key}={getattr(self, key)}: must be at least 1")
        if self.width % self.heads:
            raise ConfigError(
                f"model.width={self.width} is not divisible by model.heads={self.heads}: "
                "every head gets width / heads channels"
            )

    @property
    def head_width(self) -> int:
        """K, the channels of one head."""
        return self.width // self.heads
