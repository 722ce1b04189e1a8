"""Prints the OPENBLAS_CORETYPE that suits this processor where OpenBLAS would run a kernel of narrower vectors, as releases older than the processor do.

Prints nothing where OpenBLAS is not there, chose well or was told by OPENBLAS_CORETYPE; says on stderr what it found.
"""
import ctypes
import ctypes.util
import os
import sys

# Widths in bits of the vectors of OpenBLAS's kernels; what is not listed is left alone
WIDTH = {name: 128 for name in ("Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Athlon", "Opteron", "Barcelona", "Bobcat", "Generic")}
WIDTH.update({name: 256 for name in ("Sandybridge", "Bulldozer", "Piledriver", "Steamroller", "Excavator", "Haswell", "Zen")})


def kernel():
    """The name of the kernel that OpenBLAS chose, None without OpenBLAS."""
    for name in ("libopenblas.so.0", ctypes.util.find_library("openblas")):
        try:
            corename = ctypes.CDLL(name).openblas_get_corename
        except (OSError, AttributeError, TypeError):
            continue
        corename.restype = ctypes.c_char_p
        return corename().decode()
    return None


def suited(flags):
    """The kernel for a processor of these flags and the width of its vectors."""
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX", 512
    if {"avx2", "fma"} <= flags:
        return "Haswell", 256
    return None, 0


def main():
    if os.environ.get("OPENBLAS_CORETYPE"):
        return
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            flags = set(next(line for line in lines if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return
    chosen, (better, width) = kernel(), suited(flags)
    # Haswell and Zen have the fused multiply-add that the other kernels of 256 bits lack
    if chosen in WIDTH and (WIDTH[chosen] < width or (better == "Haswell" and width == 256 and chosen in ("Sandybridge", "Bulldozer"))):
        print(better)
        print(f"OpenBLAS would run its {chosen} kernel on this processor: OPENBLAS_CORETYPE={better} for this run", file=sys.stderr)


main()
