/*
   The list of the kernels that make and read messages: selection, rounding, quantization, signs.
*/
#pragma once

#define MUON_KERNELS_MESSAGES(KERNEL)
