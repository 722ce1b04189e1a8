/*
   The list of the kernels that norm balls are made of: norms of lines and of what crosses them, and the matrices made of them.
*/
#pragma once

#define MUON_KERNELS_NORMS(KERNEL)
