/* A type that the library does not have: every entry moves by the rate, against the sign of its gradient */
#include <petscmuon/private/muonlayerimpl.h>
#include "extend.h"

static PetscErrorCode MuonLayerStep_SignSGD(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  MuonArray D;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetArray(layer->work, G, G->precision, &D));
  for (size_t j = 0; j < D.count; j++) {
    for (size_t i = 0; i < D.len; i++) {
      if (D.precision == MUON_SINGLE) {
        const float g = ((const float *)G->data)[j * G->ld + i];

        ((float *)D.data)[j * D.ld + i] = (float)((g > 0) - (g < 0));
      } else {
        const double g = ((const double *)G->data)[j * G->ld + i];

        ((double *)D.data)[j * D.ld + i] = (g > 0) - (g < 0);
      }
    }
  }
  *status = MuonLayerUpdate(info, X, -info->rate, &D, Xnew);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCreate_SignSGD(MuonLayer layer)
{
  PetscFunctionBegin;
  layer->ops->step = MuonLayerStep_SignSGD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
