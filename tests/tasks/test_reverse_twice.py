from posenc.tasks.reverse_twice import ReverseTwice

NEXT = 100


def test_by_hand():
    assert ReverseTwice().solve([8]) == [8, NEXT, 8]
    assert ReverseTwice().solve([1, 2, 2]) == [2, 2, 1, NEXT, 2, 2, 1]
