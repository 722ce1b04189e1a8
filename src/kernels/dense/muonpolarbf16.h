/*
   What the products of bfloat16 matrices by oneDNN keep between calls, for the table MuonKernelRealBF16 of
   muonpolarreal.h: there is one of it in a process, and two threads may not use it at once. Without oneDNN
   these functions are there too and have nothing to say.
*/
#pragma once

#include "muonpolarreal.h"

MUON_C_BEGIN

/* 1 where the library was built with oneDNN and oneDNN multiplies bfloat16 matrices on this processor */
int MuonKernelBF16Usable(void);
/* Bytes of the rounded copies of operands; they grow to what the largest product needs */
size_t MuonKernelBF16Bytes(void);
/* Frees all; the next product starts anew */
void MuonKernelBF16Free(void);

MUON_C_END
