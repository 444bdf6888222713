"""No positional encoding: attention compares content alone.

    logit(i, j) = q_i . k_j / sqrt(K)

Without a causal mask, permuting the tokens permutes the outputs and does nothing else; a causal
mask alone gives some order back (Haviv et al., arXiv 2203.16634; Kazemnejad et al., arXiv
2305.19466, who name it NoPE). Past the trained length nothing new appears in the input.
"""

from posenc.encodings.base import Encoding


class NoPE(Encoding):
    """Leaves every hook as it is."""
