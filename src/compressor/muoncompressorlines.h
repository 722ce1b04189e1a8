/*
   What the types that keep whole rows or columns share: all but the name and the man page.
*/
#pragma once

#include "muoncompressorcodec.h"

/* Fills the operations of a type whose messages have that form, MUON_WIRE_WHOLECOLUMNS or MUON_WIRE_WHOLEROWS */
PETSC_INTERN PetscErrorCode MuonCompressorCreateLines_Private(MuonCompressor, MuonWireForm);
