"""What is planned: at most one event for each of a fixed number of items, the earliest on top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import kernel


class Heap(NamedTuple):
    """At most one planned event per item: int64[items] keys and items in heap order, int64[items]
    the place of each item in it (-1: none), int64[1] how many there are."""

    keys: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]


def new_heap(items: int) -> Heap:
    """Return a heap in which nothing is planned for any of so many items."""
    return Heap(
        np.empty(items, dtype=np.int64),
        np.empty(items, dtype=np.int64),
        np.full(items, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def sift_up(heap, place, key, item):
    """Move an entry from `place` towards the root of the heap to where it belongs."""
    keys, ids, places = heap.keys, heap.ids, heap.places
    while place > 0:
        parent = (place - 1) >> 1
        if keys[parent] <= key:
            break
        keys[place], ids[place] = keys[parent], ids[parent]
        places[ids[place]] = place
        place = parent
    keys[place], ids[place] = key, item
    places[item] = place


@kernel
def sift_down(heap, place, key, item):
    """Move an entry from `place` towards the leaves of the heap to where it belongs."""
    keys, ids, places, size = heap.keys, heap.ids, heap.places, heap.size[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], ids[place] = keys[child], ids[child]
        places[ids[place]] = place
        place = child
    keys[place], ids[place] = key, item
    places[item] = place


@kernel
def put(heap, item, key):
    """Set the key of an item, in place of the one it had."""
    place = heap.places[item]
    if place < 0:
        heap.size[0] += 1
        sift_up(heap, heap.size[0] - 1, key, item)
    elif key < heap.keys[place]:
        sift_up(heap, place, key, item)
    else:
        sift_down(heap, place, key, item)


@kernel
def cancel(heap, item):
    """Remove the planned event of an item, if it has one."""
    place = heap.places[item]
    if place < 0:
        return
    heap.places[item] = -1
    last = heap.size[0] - 1
    heap.size[0] = last
    if place == last:
        return
    key, moved = heap.keys[last], heap.ids[last]
    if place > 0 and heap.keys[(place - 1) >> 1] > key:
        sift_up(heap, place, key, moved)
    else:
        sift_down(heap, place, key, moved)
