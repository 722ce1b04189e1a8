"""Prints the OPENBLAS_CORETYPE that suits this processor where OpenBLAS would run a kernel of narrower vectors, as releases older than the processor do.

Prints nothing where OpenBLAS is not there, chose well or was told by OPENBLAS_CORETYPE; says on stderr what it found.
"""
import ctypes
import ctypes.util
import os
import sys

NARROW = ("Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Athlon", "Opteron", "Barcelona", "Bobcat", "Generic", "Sandybridge", "Bulldozer")
# Vectors of 256 bits with the fused multiply-add
HALF = ("Haswell", "Zen", "Piledriver", "Steamroller", "Excavator")

try:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        flags = set(next(line for line in lines if line.startswith("flags")).split())
    corename = ctypes.CDLL(ctypes.util.find_library("openblas") or "libopenblas.so.0").openblas_get_corename
    corename.restype = ctypes.c_char_p
    chosen = corename().decode()
except (OSError, StopIteration, AttributeError):
    sys.exit()
better = "SkylakeX" if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags else "Haswell" if {"avx2", "fma"} <= flags else None
if better and not os.environ.get("OPENBLAS_CORETYPE") and (chosen in NARROW or better == "SkylakeX" and chosen in HALF):
    print(better)
    print(f"OpenBLAS would run its {chosen} kernel on this processor: OPENBLAS_CORETYPE={better} for this run", file=sys.stderr)
