"""Positional encodings: `base` is the contract, every other file is one encoding."""

from posenc.encodings.alibi import ALiBi
from posenc.encodings.alibi_asymmetric import AsymmetricALiBi
from posenc.encodings.alibi_learned import LearnedALiBi
from posenc.encodings.combined import Combined
from posenc.encodings.cope import CoPE
from posenc.encodings.dape import DAPE
from posenc.encodings.deberta import DeBERTa
from posenc.encodings.dynamic_bias import DynamicPositionBias
from posenc.encodings.fire import FIRE
from posenc.encodings.fourier import LearnableFourierFeatures
from posenc.encodings.index import Index
from posenc.encodings.kerple_log import KERPLELog
from posenc.encodings.kerple_power import KERPLEPower
from posenc.encodings.learned import Learned
from posenc.encodings.none import NoPE
from posenc.encodings.pope import PoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.rope_linear import PositionInterpolation
from posenc.encodings.rope_ntk import NTKAwareRoPE
from posenc.encodings.rope_partial import PartialRoPE
from posenc.encodings.sandwich import Sandwich
from posenc.encodings.scaled_sinusoidal import ScaledSinusoidal
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.t5 import T5
from posenc.encodings.transformer_xl import TransformerXL
from posenc.encodings.tupe import TUPE
from posenc.encodings.xpos import XPos
from posenc.encodings.yarn import YaRN

__all__ = [
    "DAPE",
    "FIRE",
    "T5",
    "TUPE",
    "ALiBi",
    "AsymmetricALiBi",
    "CoPE",
    "Combined",
    "DeBERTa",
    "DynamicPositionBias",
    "Index",
    "KERPLELog",
    "KERPLEPower",
    "LearnableFourierFeatures",
    "Learned",
    "LearnedALiBi",
    "NTKAwareRoPE",
    "NoPE",
    "PartialRoPE",
    "PoPE",
    "PositionInterpolation",
    "RoPE",
    "Sandwich",
    "ScaledSinusoidal",
    "Shaw",
    "Sinusoidal",
    "TransformerXL",
    "XPos",
    "YaRN",
]
