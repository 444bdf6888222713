"""T5's buckets: every distance against the published code, and the boundaries by hand."""

import pytest
import torch

from posenc.encodings.t5 import T5, bucket_starts
from posenc.errors import ConfigError
from posenc.shapes import Shape


def encoding(causal: bool, **settings: int) -> T5:
    return T5(Shape(16, 4, 2, causal=causal), **settings)


def buckets_behind(causal: bool, *distances: int) -> list[int]:
    return encoding(causal, max_distance=128).bucket(-torch.tensor(distances)).tolist()


@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 64), (8, 20), (32, 300)])
@pytest.mark.parametrize("causal", [False, True])
def test_buckets_equal_those_of_transformers(causal, buckets, max_distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    ahead = torch.arange(-2000, 2001)
    expected = T5Attention._relative_position_bucket(
        ahead, bidirectional=not causal, num_buckets=buckets, max_distance=max_distance
    )
    ours = encoding(causal, buckets=buckets, max_distance=max_distance).bucket(ahead)
    assert torch.equal(ours, expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("causal", [False, True])
def test_bias_equals_x_transformers(causal):
    from x_transformers.x_transformers import RelativePositionBias

    t5 = encoding(causal, max_distance=128)
    reference = RelativePositionBias(1, causal=causal, heads=4)
    reference.relative_attention_bias.load_state_dict(t5.table.state_dict())
    ids = torch.arange(300)[None]
    ours = t5.bias(t5.prepare(ids[:, -20:], ids))
    torch.testing.assert_close(ours, reference(20, 300)[None], atol=0, rtol=0)


def test_boundaries_by_hand():
    assert bucket_starts(16, 128)[7:] == [8, 12, 16, 23, 32, 46, 64, 91]
    causal = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert bucket_starts(32, 128)[15:] == causal


def test_boundaries_equal_exact_arithmetic():
    """d is past edge s of w when (d / exact)^w >= (max / exact)^s, here in whole numbers."""
    for buckets, max_distance in ((16, 128), (32, 128), (16, 8 * 2**8), (8, 4 * 3**4), (2, 100)):
        exact, wide = buckets // 2, buckets - buckets // 2
        starts = bucket_starts(buckets, max_distance)
        assert starts[:exact] == list(range(1, exact + 1))
        for step, start in enumerate(starts[exact:], start=1):
            edge = max_distance**step * exact ** (wide - step)
            assert start**wide >= edge > (start - 1) ** wide


def test_buckets_of_a_bidirectional_model_by_hand():
    distances = [0, 1, 7, 8, 15, 16, 31, 32, 64, 90, 91, 1000]
    expected = [0, 1, 7, 8, 9, 10, 11, 12, 14, 14, 15, 15]
    assert buckets_behind(False, *distances) == expected
    ahead = encoding(False, max_distance=128).bucket(torch.tensor(distances)).tolist()
    assert ahead == [0] + [16 + bucket for bucket in expected[1:]]


def test_buckets_of_a_causal_model_by_hand():
    distances = [0, 1, 15, 16, 31, 32, 64, 100, 112, 113]
    assert buckets_behind(True, *distances) == [0, 1, 15, 16, 21, 21, 26, 30, 30, 31]
    assert encoding(True).bucket(torch.tensor([1, 50, 10**6])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("causal", [False, True])
def test_far_distances_stay_in_the_table(causal):
    rows = encoding(causal).bucket(torch.tensor([-(10**6), 10**6]))
    assert 0 <= rows.min() <= rows.max() < 32


@pytest.mark.parametrize("causal", [False, True])
def test_bias_is_the_row_of_each_pair(causal):
    t5 = encoding(causal)
    query_ids, key_ids = torch.tensor([[4, 90]]), torch.tensor([[0, 4, 33, 90]])
    bias = t5.bias(t5.prepare(query_ids, key_ids))
    for query, i in enumerate(query_ids[0]):
        for key, j in enumerate(key_ids[0]):
            assert torch.equal(bias[0, :, query, key], t5.table.weight[t5.bucket(j - i)])


@pytest.mark.parametrize("buckets", [0, 2, 7, 33, -4])
def test_refuses_buckets_that_cannot_be_split(buckets):
    with pytest.raises(ConfigError, match=rf"encoding\.buckets={buckets}: "):
        encoding(False, buckets=buckets)


def test_refuses_a_maximum_among_the_exact_distances():
    with pytest.raises(ConfigError, match=r"encoding\.max_distance=16: must exceed 16"):
        encoding(True, max_distance=16)
    encoding(False, max_distance=16)
