"""Philox4x32-10 a second time, from the definition in Salmon, Moraes, Dror and Shaw (2011), for the oracles that draw."""
MASK = 0xFFFFFFFF
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
    ([MASK] * 4, [MASK] * 2, [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
    ([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0], [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]),
]

def philox(counter, key):
    """The four words of one block."""
    x, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * x[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * x[2], 1 << 32)
        x = [high1 ^ x[1] ^ k[0], low1, high0 ^ x[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return x

class Stream:
    """The random words of one sender, layer, step and direction."""

    def __init__(self, seed, layer, step, sender, direction):
        self.key = [seed & MASK, seed >> 32 & MASK]
        self.rest = [layer, step, sender | direction << 31]
        self.blocks = {}

    def word(self, entry):
        block = (entry >> 2) & MASK
        if block not in self.blocks:
            self.blocks[block] = philox([block] + self.rest, self.key)
        return self.blocks[block][entry & 3]

for counter, key, out in KNOWN:
    assert philox(counter, key) == out, 'known answer'
