# SPDX-License-Identifier: BSD-2-Clause
# The guest's Python program of walkers.test: calls with known shares. Each of them prints its
# stack, from the interpreter, before the first unit of work.
import sys

ROUNDS = 60
seen = set()


def spin():
    print_stack()
    n = 400
    total = 0
    while n:
        total += n
        n -= 1
    return total


def print_stack():
    frame, words = sys._getframe(1), []
    while frame:
        code = frame.f_code
        words.append(f"{code.co_qualname}@{code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}")
        frame = frame.f_back
    line = ";".join(reversed(words))
    if line not in seen:
        seen.add(line)
        print("STACK python", line, flush=True)


class Shape:
    def first(self):
        for _ in range(5):
            spin()

    def zweiteÄ(self):
        for _ in range(8):
            spin()


def key(n):
    spin()
    return n


def through_c():
    sorted([3, 1, 2, 0, 4, 5, 6], key=key)


def numbers():
    for _ in range(3):
        yield spin()


def main():
    shape = Shape()
    for _ in range(ROUNDS):
        shape.first()
        shape.zweiteÄ()
        through_c()
        for _ in numbers():
            pass


main()
