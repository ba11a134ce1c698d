"""How a pool chose among its idle connections, read from the stamps of the check-outs that took them."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

#: At one instant: what came back is there for whoever asks, and who asks has nothing yet.
_GIVEN_BACK, _ASKED, _TAKEN = range(3)


def order(connection: Ints, asked_ns: Ints, acquired_ns: Ints, released_ns: Ints, size: int) -> dict[str, int]:
    """
    Count how a pool chose among idle connections, from the connection numbers of check-outs that ended well.

    `newest` is the connection that was given back last (LIFO), `oldest` the one given back first (FIFO), `between`
    any other. A check-out counts where the pool had a choice: it found idle connections when it asked, two or more of
    them were known to be idle when it had one, and nobody else had asked and had none, since what comes back then
    goes to that one. `size` is the number of connections that the pool held before the first check-out: those not seen
    yet were given back before all that were.
    """
    idle, seen = dict[int, None](), set[int]()
    asking, waited = set[int](), set[int]()
    found = {"newest": 0, "oldest": 0, "between": 0}
    for kind, row in _events(asked_ns, acquired_ns, _given_back(connection, acquired_ns, released_ns)):
        number, unseen = int(connection[row]), max(0, size - len(seen))
        if kind == _GIVEN_BACK:
            idle[number] = None
        elif kind == _ASKED:
            if len(idle) + unseen <= len(asking):
                waited.add(row)
            asking.add(row)
        else:
            asking.discard(row)
            is_idle = number in idle or (number not in seen and unseen > 0)
            if idle and is_idle and len(idle) + unseen > 1 and not asking and row not in waited:
                found[_place(number, list(idle), unseen)] += 1
            seen.add(number)
            idle.pop(number, None)
    return found


def _given_back(connection: Ints, acquired_ns: Ints, released_ns: Ints) -> Ints:
    """
    Return when each connection was there again: at the latest just before it was taken the next time.

    A caller's stamp of a release is read when it runs again. The next owner may have run before that.
    """
    by_use = np.lexsort((acquired_ns, connection))
    numbers, begun, ended = connection[by_use], acquired_ns[by_use], released_ns[by_use]
    again = numbers[1:] == numbers[:-1]
    ended[:-1] = np.where(again, np.minimum(ended[:-1], begun[1:] - 1), ended[:-1])
    found = np.empty_like(ended)
    found[by_use] = ended
    return found


def _events(asked_ns: Ints, acquired_ns: Ints, released_ns: Ints) -> list[tuple[int, int]]:
    """Return what happened, in order: (kind, number of the check-out)."""
    stamps = ((_GIVEN_BACK, released_ns), (_ASKED, asked_ns), (_TAKEN, acquired_ns))
    return [event[1:] for event in sorted((int(at), kind, row) for kind, each in stamps for row, at in enumerate(each))]


def _place(number: int, idle: list[int], unseen: int) -> str:
    """Say which of the idle connections a number is; `idle` is by age, the one given back last at its end."""
    if number == idle[-1]:
        return "newest"
    if number not in idle:
        return "oldest"
    return "oldest" if not unseen and number == idle[0] else "between"
