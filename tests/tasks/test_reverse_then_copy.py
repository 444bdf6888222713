from posenc.tasks.reverse_then_copy import ReverseThenCopy

NEXT = 100


def test_by_hand():
    assert ReverseThenCopy().solve([8]) == [8, NEXT, 8]
    assert ReverseThenCopy().solve([1, 2, 2]) == [2, 2, 1, NEXT, 1, 2, 2]
